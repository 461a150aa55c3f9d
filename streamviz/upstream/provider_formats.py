"""The formats in which LiteLLM calls a provider, and what chat calls the limit on an answer's tokens there."""

from functools import lru_cache

from litellm.types.utils import LlmProviders
from litellm.utils import ProviderConfigManager

from streamviz.upstream.lite import litellm
from streamviz.upstream.targets import Target


def speaks_messages(target: Target) -> bool:
    """Whether LiteLLM calls this model in Anthropic's own format. Some providers speak it at only one of their
    addresses: at the others LiteLLM would convert from chat by itself, and give a normal end to an answer that breaks
    off."""
    return _speaks_messages(target.provider, target.model, target.base_url)


@lru_cache(maxsize=1_000)
def _speaks_messages(provider: str, model: str, base_url: str) -> bool:
    try:
        config = ProviderConfigManager.get_provider_anthropic_messages_config(model, LlmProviders(provider))
    except ValueError:
        return False
    return config is not None and config.serves_api_base(model, base_url or None)


def speaks_responses(target: Target) -> bool:
    """The same for the format of OpenAI's responses."""
    return _speaks_responses(target.provider, target.model, target.base_url)


@lru_cache(maxsize=1_000)
def _speaks_responses(provider: str, model: str, base_url: str) -> bool:
    config = ProviderConfigManager.get_provider_responses_api_config(provider, model, api_base=base_url or None)
    return config is not None


@lru_cache(maxsize=1_000)
def bound_of(provider: str, model: str) -> str:
    """What chat calls the limit on the tokens of this model's answer, as far as LiteLLM knows."""
    told = litellm.get_optional_params(model=model, custom_llm_provider=provider, max_tokens=1)
    return "max_completion_tokens" if "max_completion_tokens" in told else "max_tokens"
