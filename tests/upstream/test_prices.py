"""What calls cost: by LiteLLM's map, and unknown where that does not know."""

import pytest

from streamviz.upstream.prices import price


def test_a_known_model_has_a_price_that_grows_with_its_tokens() -> None:
    one, ten = price("gpt-4o", "openai", 100, 100), price("gpt-4o", "openai", 1_000, 1_000)
    assert one is not None
    assert one > 0
    assert ten == pytest.approx(10 * one)


@pytest.mark.parametrize("tokens", [(None, 1), (1, None)])
def test_without_tokens_there_is_no_price(tokens: tuple[int | None, int | None]) -> None:
    assert price("gpt-4o", "openai", *tokens) is None


def test_a_model_that_nobody_knows_has_none() -> None:
    # The second is from what was remembered of the first.
    assert [price("no-such-model", "openai", 1, 1) for _ in range(2)] == [None, None]
