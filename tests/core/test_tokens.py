"""Token counts in one normal form: all input and all output, with their parts listed separately."""

from typing import Any

import pytest

from streamviz.core.tokens import Tokens, tokens_of
from tests.core.wire.official import take_in
from tests.recordings import RECORDED_FORMATS, recorded
from tests.upstream.usage_reports import REPORTS


@pytest.mark.parametrize(
    ("usage", "want"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, Tokens(3, 4)),
        (
            {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 6},
            Tokens(14, 4, cache_read=5, cache_written=6),
        ),
        ({"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None}, Tokens(3, 4)),
        (
            {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 5}, "cache_read_input_tokens": 5},
            Tokens(9, None, cache_read=5),
        ),
        ({"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 4}, Tokens(1, 6, reasoning=4)),
        ({"promptTokenCount": 1, "totalTokenCount": 1}, Tokens(1, 0)),
        ({"promptTokenCount": 1}, Tokens(1, None)),
    ],
)
def test_the_input_is_all_input_and_the_output_all_output(usage: dict[str, Any], want: Tokens) -> None:
    assert tokens_of(usage) == want


def test_an_unknown_count_of_tokens_is_not_zero() -> None:
    assert tokens_of(None) == tokens_of({}) == Tokens()
    assert tokens_of({"cache_read_input_tokens": 5, "output_tokens": 1}) == Tokens(None, 1, cache_read=5)
    assert tokens_of({"promptTokenCount": "many", "totalTokenCount": 3}) == Tokens()


def test_a_part_that_is_more_than_its_whole_was_left_out_of_it() -> None:
    cached = {"prompt_tokens": 7, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 161}}
    assert tokens_of(cached) == Tokens(168, 8, cache_read=161)
    thought = {"prompt_tokens": 28, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 48}}
    assert tokens_of(thought) == Tokens(28, 53, reasoning=48)


@pytest.mark.parametrize(
    ("usage", "beside", "tier"),
    [
        ({"prompt_tokens": 1}, "flex", "flex"),
        ({"prompt_tokens": 1, "service_tier": "priority"}, "", "priority"),
        ({"promptTokenCount": 1, "trafficType": "ON_DEMAND_FLEX"}, "", "flex"),
        ({"promptTokenCount": 1, "trafficType": "ON_DEMAND"}, "", ""),
        ({"promptTokenCount": 1, "serviceTier": "standard"}, "", "standard"),
        ({"prompt_tokens": 1, "service_tier": ["odd"]}, "", ""),
    ],
)
def test_it_finds_the_service_tier(usage: dict[str, Any], beside: str, tier: str) -> None:
    assert tokens_of(usage, beside).tier == tier


@pytest.mark.parametrize(
    "cost", ["1", -1, True, None, {"total_cost": "1"}, {"request_cost": 1}, 1e12, float("inf"), float("nan")]
)
def test_what_is_no_cost_is_not_told(cost: object) -> None:
    assert tokens_of({"prompt_tokens": 1, "cost": cost}).told_cost is None


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": {"input_tokens_cost": 0.001, "request_cost": 0.005, "total_cost": 0.006}}, 0.006),
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.05}}, 0.05),
        ({"cost": 0.0025, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.05}}, 0.0525),
        ({"cost": 0.0025, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, 0.0025),
        ({"cost": 0.05, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.05}}, 0.05),
    ],
)
def test_what_a_call_cost_is_told_in_several_ways(usage: dict[str, Any], cost: float) -> None:
    assert tokens_of({"prompt_tokens": 1, "completion_tokens": 1, **usage}).told_cost == pytest.approx(cost)


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_parts_are_never_more_than_their_whole(format: str) -> None:
    for path in recorded(format):
        tokens = take_in(format, path.read_bytes())[0].state.tokens
        if tokens.input is not None:
            assert (tokens.cache_read or 0) + (tokens.cache_written or 0) <= tokens.input, path.stem
        if tokens.output is not None:
            assert (tokens.reasoning or 0) <= tokens.output, path.stem


@pytest.mark.parametrize("odd", [{}, [], "three", -1, 1.5, True, [[1]], {"a": {}}])
def test_nothing_that_a_stranger_counts_raises(odd: object) -> None:
    for report in REPORTS:
        for key, value in report.usage.items():
            tokens_of({**report.usage, key: odd})
            for inner in value if isinstance(value, dict) else ():
                tokens_of({**report.usage, key: {**value, inner: odd}})
