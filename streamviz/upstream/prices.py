"""What a call cost, by LiteLLM's price map."""

from functools import lru_cache

from streamviz.core.model_names import REPLAY, SIMULATOR
from streamviz.core.tokens import Tokens

# What these report is what they bill, including searches, which the map cannot tell from tokens.
_TELLING = frozenset(("openrouter", "perplexity"))


def price(model: str, provider: str, tokens: Tokens) -> float | None:
    """US dollars for a call: what the provider reports if it bills by that, or if the map does not have the model. None
    if tokens or price are unknown, and for a replay, which nobody bills."""
    if provider == REPLAY:
        return None
    if provider in _TELLING and tokens.told_cost:
        return tokens.told_cost
    if not _has_price(model, provider):
        return tokens.told_cost
    if tokens.input is None or tokens.output is None:
        return None
    return _cost(model, provider, tokens)


@lru_cache(maxsize=1_000)
def _has_price(model: str, provider: str) -> bool:
    """Whether LiteLLM's map has a price; 0 there means that it has none. Finding out takes as long as carrying ten
    chunks."""
    if provider == SIMULATOR:
        return False
    try:
        return _cost(model, provider, Tokens(1, 1)) > 0
    except Exception:  # LiteLLM raises bare exceptions for a model that its map does not know.
        return False


def _cost(model: str, provider: str, tokens: Tokens) -> float:
    from streamviz.upstream.costs import cost_of

    return cost_of(model, provider, tokens)


@lru_cache(maxsize=1_000)
def most_output(model: str, provider: str) -> int | None:
    """How many tokens a model writes at most; None if LiteLLM's map does not say."""
    if provider in (SIMULATOR, REPLAY):
        return None
    from streamviz.upstream.lite import litellm

    for name in (f"{provider}/{model}", model):
        most = litellm.model_cost.get(name, {}).get("max_output_tokens")
        if isinstance(most, int) and most > 0:
            return most
    return None
