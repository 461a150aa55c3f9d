"""Token counts of every format in one vocabulary."""

from typing import Any

import pytest

from streamviz.core.usage import Usage, normalise


@pytest.mark.parametrize(
    ("usage", "want"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}, Usage(3, 4, 7)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 0}}, Usage(3, cached_tokens=0)),
        ({"prompt_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}}, Usage(3, reasoning_tokens=2)),
        ({"prompt_tokens": 3, "prompt_tokens_details": None, "prompt_cache_hit_tokens": 1}, Usage(3, cached_tokens=1)),
        ({"input_tokens": 3, "cache_read_input_tokens": 5}, Usage(3, cached_tokens=5)),
        ({"output_tokens": 3, "output_tokens_details": {"thinking_tokens": 2}}, Usage(None, 3, reasoning_tokens=2)),
        ({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, Usage(1, 2, 3)),
        ({"promptTokenCount": 1, "thoughtsTokenCount": 2, "totalTokenCount": 9}, Usage(1, None, 9, 2)),
    ],
)
def test_it_finds_the_counts_of_each_format(usage: dict[str, Any], want: Usage) -> None:
    assert normalise(usage) == want


def test_unknown_usage_is_none_and_not_zero() -> None:
    assert normalise({}) == Usage(None, None, None, None, None)


@pytest.mark.parametrize("odd", ["three", -1, 1.5, True, [], {}])
def test_what_is_no_count_is_unknown(odd: object) -> None:
    assert normalise({"input_tokens": odd, "output_tokens": 2}) == Usage(None, 2)


def test_the_chat_names_decide_where_a_gateway_sends_both() -> None:
    usage: dict[str, object] = {"prompt_tokens": 3, "completion_tokens": 4, "input_tokens": 0, "output_tokens": 0}
    assert normalise(usage) == Usage(3, 4)
