"""What tokens cost according to LiteLLM's price map, which has rules of its own for each provider."""

from typing import Any

from streamviz.core.tokens import Tokens
from streamviz.upstream.lite import litellm

_BATCH = "batch"


def cost_of(model: str, provider: str, tokens: Tokens) -> float:
    """US dollars for tokens whose input and output are known. Raises whatever LiteLLM raises for a model that it does
    not know: bare exceptions."""
    asked, said = litellm.cost_per_token(
        model=model,
        custom_llm_provider=provider,
        usage_object=_usage(tokens),
        service_tier=tokens.tier or None,
        call_type="retrieve_batch" if tokens.tier == _BATCH else "completion",
    )
    return float(asked + said) + (tokens.searches * _search_price(model) if tokens.searches else 0.0)


def _search_price(model: str) -> float:
    """What Anthropic bills for one of its own web searches."""
    known = litellm.model_cost.get(model, {}).get("search_context_cost_per_query") or {}
    return float(known.get("search_context_size_medium") or 0.0)


def _usage(tokens: Tokens) -> litellm.Usage:
    """The tokens as LiteLLM counts them: parts are included in their totals. It works out how many are text."""
    assert tokens.input is not None
    assert tokens.output is not None
    said = {
        "reasoning_tokens": tokens.reasoning,
        "audio_tokens": tokens.output_audio,
        "image_tokens": tokens.output_image,
    }
    return litellm.Usage(
        prompt_tokens=tokens.input,
        completion_tokens=tokens.output,
        total_tokens=tokens.input + tokens.output,
        prompt_tokens_details=_asked(tokens),
        completion_tokens_details=_some(said),
        **_some({"speed": tokens.speed, "inference_geo": tokens.region}),
    )


def _asked(tokens: Tokens) -> dict[str, object]:
    lives = {"ephemeral_1h_input_tokens": tokens.written_1h, "ephemeral_12h_input_tokens": tokens.written_12h}
    asked = {
        "cached_tokens": tokens.cache_read,
        "cached_tokens_details": _some({"audio_tokens": tokens.cached_audio}),
        "cache_write_tokens": tokens.cache_written,
        "cache_creation_token_details": _some(lives),
        "audio_tokens": tokens.input_audio,
        "image_tokens": tokens.input_image,
    }
    return _some(asked)


def _some(values: dict[str, Any]) -> dict[str, Any]:
    """The values that say anything: LiteLLM spends time on each."""
    return {name: value for name, value in values.items() if value}
