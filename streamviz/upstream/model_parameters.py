"""Which parameters of chat a model has, as far as LiteLLM knows."""

from functools import lru_cache
from typing import Any

from streamviz.core.model_names import SIMULATOR
from streamviz.upstream.lite import litellm
from streamviz.upstream.targets import Target

# Parameters of chat that not every provider has, and that LiteLLM refuses for those without.
_BY_NAME = frozenset(
    "audio context_management frequency_penalty functions function_call logit_bias logprobs modalities n"
    " parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort"
    " safety_identifier seed service_tier stop store top_logprobs user verbosity".split()
)
# How much a model may think, in the words of all providers.
EFFORTS = frozenset("none disable minimal low medium high xhigh max auto default".split())
_WITHOUT_TOP_K = frozenset({"openai", "azure", "xai", "mistral", "deepseek"})


def has(target: Target, name: str) -> bool:
    """Whether the model has this parameter of chat, as far as LiteLLM knows."""
    return name not in _BY_NAME or name in taken_by(target.provider, target.model)


@lru_cache(maxsize=1_000)
def taken_by(provider: str, model: str) -> frozenset[str]:
    """The parameters of chat that LiteLLM passes on to a model. The simulator has all."""
    if provider == SIMULATOR:
        return _BY_NAME
    return frozenset(litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or ())


@lru_cache(maxsize=1_000)
def samples(provider: str, model: str, name: str, value: float, effort: str) -> bool:
    """Whether a model accepts this sampling parameter, as far as LiteLLM knows. `effort` is one of EFFORTS, or
    empty."""
    if provider == SIMULATOR:
        return True
    if name == "top_k":
        return provider not in _WITHOUT_TOP_K
    told: dict[str, Any] = {name: value, **({"reasoning_effort": effort} if effort else {})}
    try:
        litellm.get_optional_params(model=model, custom_llm_provider=provider, **told)
    except litellm.UnsupportedParamsError:
        return False
    except Exception:  # The call itself will report anything else that is wrong.
        return True
    return True


@lru_cache(maxsize=1_000)
def may_not_think(provider: str, model: str) -> bool:
    """Whether a model can be told not to think, as far as LiteLLM knows."""
    if provider == SIMULATOR:
        return True
    if "reasoning_effort" not in taken_by(provider, model):
        return False
    try:
        litellm.get_optional_params(model=model, custom_llm_provider=provider, reasoning_effort="none")
    except Exception:  # LiteLLM has no other way to say so.
        return False
    return True


@lru_cache(maxsize=1_000)
def drops_json_mode(provider: str, model: str) -> bool:
    """Whether LiteLLM silently drops the request for an answer in JSON of any kind."""
    if provider == SIMULATOR:
        return False
    of: dict[str, Any] = {"model": model, "custom_llm_provider": provider}
    try:
        plain = litellm.get_optional_params(**of)
        told = litellm.get_optional_params(**of, response_format={"type": "json_object"})
    except Exception:  # The call itself will report what is wrong.
        return False
    # A flag for LiteLLM's own reading of the answer.
    told.pop("json_mode", None)
    return bool(plain == told)
