"""The prices of calls: according to LiteLLM's map, and unknown if that has none."""

import pytest

from streamviz.core.tokens import Tokens, tokens_of
from streamviz.upstream.lite import litellm
from streamviz.upstream.prices import price
from tests.upstream.usage_reports import PRICES, REPORTS, Report

# LiteLLM imports more of itself at the first look-up of a provider, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: f"{report.model}: {report.what}")
def test_a_report_costs_what_its_parts_do(report: Report) -> None:
    prices = PRICES[f"{report.provider}/{report.model}"]
    by_hand = report.factor * sum(tokens * prices[field] for field, tokens in report.parts.items())
    cost = price(report.model, report.provider, tokens_of(report.usage, report.tier))
    assert cost == pytest.approx(by_hand, rel=1e-9)


def test_the_prices_are_those_of_the_map() -> None:
    for name, prices in PRICES.items():
        known = litellm.model_cost.get(name) or litellm.model_cost[name.partition("/")[2]]
        assert {field: known[field] for field in prices} == prices, name


def test_the_parts_of_a_report_add_up_to_its_tokens() -> None:
    assert len(REPORTS) == 60
    assert len({report.provider for report in REPORTS}) >= 5
    for report in REPORTS:
        tokens = tokens_of(report.usage)
        assert (tokens.input or 0) + (tokens.output or 0) == sum(report.parts.values()), report.what


@pytest.mark.parametrize("tokens", [Tokens(None, 1), Tokens(1, None), Tokens()])
def test_without_tokens_there_is_no_price(tokens: Tokens) -> None:
    assert price("gpt-4o", "openai", tokens) is None


def test_a_model_that_nobody_knows_has_none() -> None:
    # The second result is from the cache.
    assert [price("no-such-model", "openai", Tokens(1, 1)) for _ in range(2)] == [None, None]


def test_what_the_provider_says_stands_in_for_a_price_that_nobody_knows() -> None:
    told = tokens_of({"prompt_tokens": 10, "completion_tokens": 20, "cost": 0.0004127})
    assert price("no-such-model", "openrouter", told) == 0.0004127
    by_map = price("gpt-4o", "openai", told)
    assert by_map == pytest.approx(10 * 2.5e-6 + 20 * 1e-5)


def test_what_a_provider_bills_by_its_own_word_counts_before_the_map() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 20}
    assert price("sonar", "perplexity", tokens_of({**usage, "cost": {"total_cost": 0.006}})) == 0.006
    by_map = price("sonar", "perplexity", tokens_of(usage))
    assert by_map
    # A gateway's 0 is not a price.
    assert price("sonar", "perplexity", tokens_of({**usage, "cost": 0})) == by_map


def test_web_searches_that_anthropic_makes_are_billed() -> None:
    usage = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 0}
    plain = price("claude-sonnet-4-5", "anthropic", tokens_of(usage))
    searched = price(
        "claude-sonnet-4-5", "anthropic", tokens_of({**usage, "server_tool_use": {"web_search_requests": 3}})
    )
    assert plain is not None
    assert searched == pytest.approx(plain + 3 * 0.01)
