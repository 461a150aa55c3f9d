"""In which formats LiteLLM calls a provider, and what chat calls the most tokens of an answer there."""

from functools import lru_cache

from litellm.types.utils import LlmProviders
from litellm.utils import ProviderConfigManager

from streamviz.upstream.lite import litellm


@lru_cache(maxsize=1_000)
def speaks_messages(provider: str, model: str) -> bool:
    """Whether LiteLLM calls this provider in Anthropic's own format."""
    try:
        return ProviderConfigManager.get_provider_anthropic_messages_config(model, LlmProviders(provider)) is not None
    except ValueError:
        return False


@lru_cache(maxsize=1_000)
def speaks_responses(provider: str, model: str) -> bool:
    """Whether LiteLLM calls this provider in the format of OpenAI's responses."""
    return ProviderConfigManager.get_provider_responses_api_config(provider, model) is not None


@lru_cache(maxsize=1_000)
def bound_of(provider: str, model: str) -> str:
    """What chat calls the most tokens of an answer of this model, as far as LiteLLM knows."""
    told = litellm.get_optional_params(model=model, custom_llm_provider=provider, max_tokens=1)
    return "max_completion_tokens" if "max_completion_tokens" in told else "max_tokens"
