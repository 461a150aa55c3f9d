"""What a call cost, by LiteLLM's price map."""

from streamviz.upstream.lite import litellm


def price(model: str, provider: str, input_tokens: int | None, output_tokens: int | None) -> float | None:
    """US dollars for a call's tokens; None where tokens or price are not known."""
    if input_tokens is None or output_tokens is None:
        return None
    try:
        prompt, completion = litellm.cost_per_token(
            model=model, custom_llm_provider=provider, prompt_tokens=input_tokens, completion_tokens=output_tokens
        )
    except Exception:  # LiteLLM raises bare exceptions for a model that its map does not know.
        return None
    return prompt + completion or None
