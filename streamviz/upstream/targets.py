"""Where a model's calls go: LiteLLM resolves the provider, its base URL and the credential, once a model."""

import os
from dataclasses import dataclass, field, replace
from enum import StrEnum

from streamviz.core.errors import RequestError
from streamviz.upstream.lite import litellm

SIMULATOR_PREFIX = "sim/"
ANTHROPIC_VERSION = "2023-06-01"

# Providers that speak a format as it is, so that their bytes can be relayed. Any other takes the translating lane.
SPEAKS = {
    "openai_chat": frozenset(
        "openai custom_openai openrouter groq deepseek mistral xai together_ai fireworks_ai hosted_vllm cerebras"
        " sambanova nvidia_nim perplexity deepinfra lm_studio llamafile moonshot dashscope nebius novita hyperbolic"
        " featherless_ai litellm_proxy zai github baseten vercel_ai_gateway".split()
    ),
    "anthropic_messages": frozenset(["anthropic"]),
    "openai_responses": frozenset(["openai"]),
}
_PATHS = {
    "openai_chat": "/chat/completions",
    "anthropic_messages": "/v1/messages",
    "openai_responses": "/responses",
}


@dataclass(frozen=True)
class _Home:
    """Where a provider lives and what its variables are called, for those of which LiteLLM does not tell."""

    url: str
    url_variable: str
    key_variable: str


_HOMES = {
    "openai": _Home("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "openrouter": _Home("https://openrouter.ai/api/v1", "OPENROUTER_API_BASE", "OPENROUTER_API_KEY"),
    "anthropic": _Home("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}


class Lane(StrEnum):
    """How the answer comes: `raw` bytes as the provider sends them, or `translated` by LiteLLM."""

    RAW = "raw"
    TRANSLATED = "translated"


@dataclass(frozen=True)
class RoutePlan:
    """What an operator set for a model name: LiteLLM's model, a base URL of its own, the variable of the credential."""

    target: str
    base_url: str = ""
    credential: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Target:
    """Where to send a request. `url` is the raw lane's; `base_url` and `key` are LiteLLM's in the other lane.

    `missing` names the environment variable of a credential that the provider needs and that is not set.
    """

    model: str
    provider: str
    wire_format: str
    lane: Lane
    url: str = ""
    base_url: str = ""
    key: str = field(default="", repr=False)
    missing: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The credential, as the provider wants it."""
        if self.wire_format == "anthropic_messages":
            return {"anthropic-version": ANTHROPIC_VERSION} | ({"x-api-key": self.key} if self.key else {})
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    def with_key(self, key: str) -> "Target":
        """The same place, with a credential of the client's own."""
        return replace(self, key=key, missing="")

    def at(self, path: str) -> "Target":
        """The raw lane's place below this one's."""
        return replace(self, url=self.url + path)

    def require_key(self) -> None:
        """Raises RequestError (401) where the provider's credential is not set."""
        if self.missing:
            message = f"No credential is set for {self.provider}: the server's environment lacks {self.missing}."
            raise RequestError(401, message, kind="authentication_error", code="no_credential")


def simulator_plan(model: str, wire_format: str, simulator_url: str) -> RoutePlan:
    """The plan for a `sim/…` model: the simulator speaks every format, as that format's own provider."""
    name = model.removeprefix(SIMULATOR_PREFIX)
    if wire_format == "anthropic_messages":
        return RoutePlan(f"anthropic/{name}", simulator_url, key="simulator")
    return RoutePlan(f"openai/{name}", f"{simulator_url}/v1", key="simulator")


def resolve(model: str, wire_format: str, plan: RoutePlan | None = None) -> Target:
    """The target of calls for `model` in a wire format. Raises RequestError (404) where no provider is known for it."""
    if plan is None and "://" in model:
        # LiteLLM would send the call, with the credential of its provider, to a URL that the client chose.
        raise _unknown(model)
    plan = plan or RoutePlan(model)
    key = plan.key or os.environ.get(plan.credential, "")
    try:
        name, provider, found_key, base_url = litellm.get_llm_provider(
            plan.target, api_base=plan.base_url or None, api_key=key or None
        )
    except litellm.exceptions.BadRequestError as error:
        raise _unknown(model) from error
    key = key or found_key or ""
    base_url = plan.base_url or base_url or ""
    missing = ""
    if home := _HOMES.get(provider):
        key = key or os.environ.get(home.key_variable, "")
        missing = home.key_variable if not key and not base_url else ""
        base_url = base_url or os.environ.get(home.url_variable, home.url)
    if provider in SPEAKS[wire_format] and base_url:
        url = _endpoint_url(base_url, wire_format)
        return Target(name, provider, wire_format, Lane.RAW, url, base_url, key, missing)
    return Target(name, provider, wire_format, Lane.TRANSLATED, "", base_url, key, missing)


def _unknown(model: str) -> RequestError:
    message = f"The model `{model}` does not exist: no provider is known for it. See GET /v1/models."
    return RequestError(404, message, kind="not_found_error", code="model_not_found", param="model")


def _endpoint_url(base_url: str, wire_format: str) -> str:
    base_url = base_url.rstrip("/")
    if wire_format == "anthropic_messages":
        base_url = base_url.removesuffix("/v1")
    return base_url + _PATHS[wire_format]


def configured_models() -> list[str]:
    """The models of every provider whose credential is in the environment."""
    return sorted(set(litellm.get_valid_models(check_provider_endpoint=False)))
