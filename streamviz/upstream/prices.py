"""What a call cost, by LiteLLM's price map."""

from functools import lru_cache

from streamviz.upstream.lite import litellm


def price(model: str, provider: str, input_tokens: int | None, output_tokens: int | None) -> float | None:
    """US dollars for a call's tokens; None where tokens or price are not known."""
    if input_tokens is None or output_tokens is None or not _has_price(model, provider):
        return None
    return _cost(model, provider, input_tokens, output_tokens) or None


@lru_cache(maxsize=1_000)
def _has_price(model: str, provider: str) -> bool:
    """Whether LiteLLM's map has the model. To find that it has not takes as long as to carry ten chunks."""
    try:
        _cost(model, provider, 1, 1)
    except Exception:  # LiteLLM raises bare exceptions for a model that its map does not know.
        return False
    return True


def _cost(model: str, provider: str, input_tokens: int, output_tokens: int) -> float:
    prompt, completion = litellm.cost_per_token(
        model=model, custom_llm_provider=provider, prompt_tokens=input_tokens, completion_tokens=output_tokens
    )
    return float(prompt + completion)


@lru_cache(maxsize=1_000)
def most_output(model: str, provider: str) -> int | None:
    """How many tokens a model writes at most; None where LiteLLM's map does not say."""
    for name in (f"{provider}/{model}", model):
        most = litellm.model_cost.get(name, {}).get("max_output_tokens")
        if isinstance(most, int) and most > 0:
            return most
    return None
