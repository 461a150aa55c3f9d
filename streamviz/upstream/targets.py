"""Where a model's calls go: LiteLLM resolves the provider, its base URL and the credential, once per model."""

import os
from dataclasses import dataclass, field, replace
from enum import StrEnum
from uuid import UUID

from streamviz.core.base_urls import wrong_with_url
from streamviz.core.errors import RequestError
from streamviz.core.model_names import SIMULATOR, SIMULATOR_PREFIX, model_names
from streamviz.core.wire import GEMINI, WIRE_FORMATS
from streamviz.upstream.providers import ONE_KEY, PROVIDERS, is_any_configured, is_callable, is_configured, may_call


@dataclass(frozen=True)
class _Home:
    """Where a provider is and what its environment variables are called, if LiteLLM does not say so."""

    url: str
    url_variable: str
    key_variable: str
    # If LiteLLM has an address of its own for its calls, the only format that this address is for.
    only: str = ""


_HOMES = {
    "openai": _Home("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "openrouter": _Home("https://openrouter.ai/api/v1", "OPENROUTER_API_BASE", "OPENROUTER_API_KEY"),
    "anthropic": _Home("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "gemini": _Home(
        "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_BASE", "GEMINI_API_KEY", GEMINI.name
    ),
}


# Passed for an address without a credential, as LiteLLM would otherwise take the environment's.
NO_KEY = "none"


class Lane(StrEnum):
    """How the answer comes: `raw` bytes as the provider sends them, `translated` by LiteLLM, or `replayed` from the
    record."""

    RAW = "raw"
    TRANSLATED = "translated"
    REPLAYED = "replayed"


@dataclass(frozen=True)
class Replay:
    """A recorded stream that is sent again, `speed` times as fast.

    `requested_at` is in µs since the epoch, `names` are those of its model, and `hides_usage` says that its client did
    not get the usage that upstream reported.
    """

    stream: UUID
    speed: float
    requested_at: int
    names: tuple[str, ...]
    hides_usage: bool


@dataclass(frozen=True)
class RoutePlan:
    """What an operator set for a model name: LiteLLM's model, a base URL of its own, the variable of the credential."""

    target: str
    base_url: str = ""
    credential: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Target:
    """Where to send a request. `url` is for the raw lane; `base_url` and `key` are for LiteLLM on the other lane.

    `missing` names the environment variable of a credential that is needed and not set; `takes_client_key` says whether
    a client's own credential can replace it.
    """

    model: str
    provider: str
    wire_format: str
    lane: Lane
    url: str = ""
    base_url: str = ""
    key: str = field(default="", repr=False)
    missing: str = ""
    takes_client_key: bool = True
    key_header: str = ""
    replay: Replay | None = None

    def names(self, asked: str) -> tuple[str, ...]:
        """All names of the model that is called, if the client asked for `asked`."""
        names = model_names(asked, self.provider, self.model)
        return names if self.replay is None else tuple(dict.fromkeys((*self.replay.names, *names)))

    @property
    def headers(self) -> dict[str, str]:
        """The headers with the credential, as the provider wants it."""
        return WIRE_FORMATS[self.wire_format].credential.headers(self.key, self.key_header)

    def with_key(self, key: str, header: str = "") -> "Target":
        """The same target with a client's own credential, in the header that it came in."""
        return replace(self, key=key, key_header=header, missing="") if self.takes_client_key else self

    def is_beside(self, other: "Target") -> bool:
        """Whether both are at the same provider and address."""
        return (self.provider, self.base_url) == (other.provider, other.base_url)

    def at(self, path: str) -> "Target":
        """The raw lane's target for a path below this one."""
        return replace(self, url=self.url + path)

    def require_key(self) -> None:
        """Raises RequestError (401) if the provider's credential is not set."""
        if self.missing:
            why = f"the server's environment lacks {self.missing}. Set it there and restart streamviz."
            message = f"No credential is set for {self.provider}: {why}"
            raise RequestError(401, message, kind="authentication_error", code="no_credential")


def simulator_target(model: str, wire_format: str, simulator_url: str) -> Target:
    """The target of a `sim/…` model. The simulator speaks every format, and LiteLLM is not asked."""
    name, spoken = model.removeprefix(SIMULATOR_PREFIX), WIRE_FORMATS[wire_format]
    url = spoken.url(simulator_url + spoken.base_path)
    return Target(name, SIMULATOR, wire_format, Lane.RAW, url, simulator_url, key=SIMULATOR)


def resolve(model: str, wire_format: str, plan: RoutePlan | None = None) -> Target:
    """The target of calls for `model` in a wire format. Raises RequestError (404) if clients may not call it.

    Without an operator's `plan`, the model must be of a provider that clients may name.
    """
    return _planned(model, wire_format, plan) if plan is not None else _named(model, wire_format)


def _named(model: str, wire_format: str) -> Target:
    """The target of a model that a client may name: its provider's usual address and the environment's credential."""
    if not is_callable(model):
        raise _unknown(model)
    name, provider, key, base_url = _found(model, RoutePlan(model))
    if not may_call(provider, name):
        raise _unknown(model)
    home, known = _home(provider, wire_format), PROVIDERS[provider]
    if home is not None:
        key = key or _credential(home.key_variable)
        base_url = base_url or os.environ.get(home.url_variable, home.url)
    is_known = is_configured(provider) or bool(key and known.takes_client_key)
    target = _target(name, provider, wire_format, base_url, key)
    missing = "" if is_known else known.variables[0]
    return replace(target, missing=missing, takes_client_key=known.takes_client_key)


def _planned(model: str, wire_format: str, plan: RoutePlan) -> Target:
    """The target that an operator set. At an address of its own, only the named credential of the environment is
    used."""
    if plan.base_url and (why := wrong_with_url(plan.base_url)):
        raise _unusable(model, f"its base URL {why}")
    name, provider, found_key, base_url = _found(model, plan)
    key = plan.key or _credential(plan.credential)
    home = _home(provider, wire_format)
    if home is not None and not plan.base_url:
        found_key = found_key or _credential(home.key_variable)
        base_url = base_url or os.environ.get(home.url_variable, home.url)
    if not plan.base_url and not plan.credential:
        key = key or found_key
    target = _target(name, provider, wire_format, plan.base_url or base_url, key)
    if plan.credential:
        return replace(target, missing="" if key else plan.credential, takes_client_key=not plan.base_url)
    if not plan.base_url:
        return replace(target, missing="" if key or home is None else home.key_variable)
    if target.lane is Lane.TRANSLATED and not key:
        return _without_key(model, target)
    return target


def _home(provider: str, wire_format: str) -> _Home | None:
    home = _HOMES.get(provider)
    return home if home is None or home.only in ("", wire_format) else None


def _without_key(model: str, target: Target) -> Target:
    """Keep LiteLLM from looking for a credential of its own. Raises RequestError if that is not possible."""
    if target.provider not in ONE_KEY:
        raise _unusable(
            model, f"it has a base URL but no credential, and one for {target.provider} would be sent there"
        )
    return replace(target, key=NO_KEY)


def _found(model: str, plan: RoutePlan) -> tuple[str, str, str, str]:
    """A model's name at its provider, the provider, its credential and address, as LiteLLM knows them."""
    from streamviz.upstream.lite import litellm

    try:
        name, provider, key, base_url = litellm.get_llm_provider(
            plan.target, api_base=plan.base_url or None, api_key=plan.key or None
        )
    except Exception as error:  # LiteLLM fails in various ways for names that it does not know.
        raise _unknown(model) from error
    return name, provider, (key or "").strip(), base_url or ""


def _credential(variable: str) -> str:
    """A variable's value, without a line break at the end, as in files that variables are set from: headers do not take
    it."""
    return os.environ.get(variable, "").strip()


def _target(name: str, provider: str, wire_format: str, base_url: str, key: str) -> Target:
    spoken = WIRE_FORMATS[wire_format]
    if provider in spoken.providers and base_url:
        return Target(name, provider, wire_format, Lane.RAW, spoken.url(base_url), base_url, key)
    return Target(name, provider, wire_format, Lane.TRANSLATED, "", base_url, key)


def _unusable(model: str, why: str) -> RequestError:
    message = f"The route `{model}` cannot be used: {why}."
    return RequestError(400, message, code="route_unusable", param="model")


def _unknown(model: str) -> RequestError:
    why = "it has no known provider. Name it as provider/model, or see GET /v1/models."
    message = f"The model `{model}` does not exist: {why}"
    return RequestError(404, message, kind="not_found_error", code="model_not_found", param="model")


def configured_models() -> list[str]:
    """The models that clients can name: those of every provider whose credential is in the environment."""
    if not is_any_configured():
        return []
    from streamviz.upstream.lite import litellm

    known = litellm.get_valid_models(check_provider_endpoint=False)
    return sorted({model for model in known if is_callable(model)})
