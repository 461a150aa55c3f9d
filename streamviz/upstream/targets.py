"""Where a model's calls go: LiteLLM resolves the provider, its base URL and the credential, once a model."""

import os
from dataclasses import dataclass, field
from enum import StrEnum

from streamviz.core.errors import RequestError
from streamviz.upstream.lite import litellm

SIMULATOR_PREFIX = "sim/"

# Providers that speak OpenAI's chat format as it is. Any other takes the translating lane.
SPEAKS_OPENAI_CHAT = frozenset(
    "openai openrouter groq deepseek mistral xai together_ai fireworks_ai hosted_vllm cerebras sambanova"
    " nvidia_nim perplexity deepinfra lm_studio llamafile moonshot dashscope nebius novita hyperbolic"
    " featherless_ai litellm_proxy zai github baseten vercel_ai_gateway".split()
)


@dataclass(frozen=True)
class _Home:
    """Where a provider lives and what its variables are called, for those of which LiteLLM does not tell."""

    url: str
    url_variable: str
    key_variable: str


_HOMES = {
    "openai": _Home("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "openrouter": _Home("https://openrouter.ai/api/v1", "OPENROUTER_API_BASE", "OPENROUTER_API_KEY"),
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
    """Where to send a request. `url` is the raw lane's; `base_url` and `key` are LiteLLM's in the other lane."""

    model: str
    provider: str
    lane: Lane
    url: str = ""
    base_url: str = ""
    key: str = field(default="", repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


def simulator_plan(model: str, simulator_url: str) -> RoutePlan:
    """The plan for a `sim/…` model: the simulator speaks OpenAI's format, so to LiteLLM it is one more OpenAI."""
    name = model.removeprefix(SIMULATOR_PREFIX)
    return RoutePlan(f"openai/{name}", f"{simulator_url}/v1", key="simulator")


def resolve(model: str, plan: RoutePlan | None = None) -> Target:
    """The target of chat calls for `model`.

    Raises RequestError where no provider is known for it (404), or the credential of its provider is not set (401).
    """
    plan = plan or RoutePlan(model)
    key = plan.key or os.environ.get(plan.credential, "")
    try:
        name, provider, found_key, base_url = litellm.get_llm_provider(
            plan.target, api_base=plan.base_url or None, api_key=key or None
        )
    except litellm.BadRequestError as error:
        message = (
            f"The model `{model}` does not exist: no provider is known for it. GET /v1/models lists those there are."
        )
        raise RequestError(404, message, code="model_not_found", param="model") from error
    key = key or found_key or ""
    base_url = plan.base_url or base_url or ""
    if home := _HOMES.get(provider):
        key = key or os.environ.get(home.key_variable, "")
        if not key and not base_url:
            message = f"No credential is set for {provider}: the server's environment lacks {home.key_variable}."
            raise RequestError(401, message, kind="authentication_error", code="no_credential")
        base_url = base_url or os.environ.get(home.url_variable, home.url)
    if provider in SPEAKS_OPENAI_CHAT and base_url:
        url = f"{base_url.rstrip('/')}/chat/completions"
        return Target(name, provider, Lane.RAW, url, base_url, key)
    return Target(name, provider, Lane.TRANSLATED, "", base_url, key)


def configured_models() -> list[str]:
    """The models of every provider whose credential is in the environment."""
    return sorted(set(litellm.get_valid_models(check_provider_endpoint=False)))
