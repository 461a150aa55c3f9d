"""The tables of the Stats page by what they show."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from django.http import QueryDict

from streamviz.dashboard.policy_figures import PolicyRow
from streamviz.dashboard.sorting import Sorting
from streamviz.dashboard.stats import GroupRow, Stats
from streamviz.dashboard.stats_drawings import Row
from streamviz.records.queries.latencies import ToolFigures
from streamviz.records.queries.lint import Broken

RowT = TypeVar("RowT")

_GROUPS: dict[str, Callable[[GroupRow], Any]] = {
    "name": lambda row: row.name.lower(),
    "streams": lambda row: row.bucket.streams,
    "failed": lambda row: row.failed,
    "tokens": lambda row: row.bucket.output_tokens,
    "cost": lambda row: row.bucket.cost,
    "ttft_upstream": lambda row: row.bucket.ttft_upstream_p95,
    "ttft_client": lambda row: row.bucket.ttft_client_p95,
    "tpot": lambda row: row.bucket.tpot_p95,
}
_TOOLS: dict[str, Callable[[ToolFigures], Any]] = {
    "name": lambda row: row.name.lower(),
    "calls": lambda row: row.calls,
    "streams": lambda row: row.streams,
    "tokens": lambda row: row.output_tokens,
    "cost": lambda row: row.cost,
}
_POLICIES: dict[str, Callable[[PolicyRow], Any]] = {
    "name": lambda row: row.name,
    "verdicts": lambda row: row.figures and row.figures.verdicts,
    "intervened": lambda row: row.figures and row.figures.interventions,
    "shadow": lambda row: row.figures and row.figures.would,
    "failures": lambda row: row.figures and row.figures.failures,
    "held": lambda row: row.holds and row.holds.blocks,
    "hold": lambda row: row.holds and row.holds.p95,
}

_TIMES: dict[str, Callable[[Row], Any]] = {
    "from": lambda row: row.bucket.at,
    "streams": lambda row: row.bucket.streams,
    "running": lambda row: row.bucket.running,
    "left": lambda row: row.bucket.left,
    "failed": lambda row: row.failed,
    "in": lambda row: row.bucket.input_tokens,
    "cached": lambda row: row.bucket.cached_tokens,
    "out": lambda row: row.bucket.output_tokens,
    "cost": lambda row: row.bucket.cost,
    "ttft_upstream": lambda row: row.bucket.ttft_upstream_p95,
    "ttft_client": lambda row: row.bucket.ttft_client_p95,
    "itl": lambda row: row.bucket.itl_p95,
    "tpot": lambda row: row.bucket.tpot_p95,
}
_RULES: dict[str, Callable[[Broken], Any]] = {
    "name": lambda row: row.rule,
    "provider": lambda row: row.provider.lower(),
    "model": lambda row: row.model.lower(),
    "streams": lambda row: row.streams,
    "times": lambda row: row.times,
}
_WORDS = {"name", "provider", "model"}


def _columns(values: Mapping[str, Callable[[RowT], Any]]) -> dict[str, bool]:
    return {name: name not in _WORDS for name in values}


GROUP_COLUMNS, TOOL_COLUMNS, POLICY_COLUMNS = _columns(_GROUPS), _columns(_TOOLS), _columns(_POLICIES)
TIME_COLUMNS, RULE_COLUMNS = _columns(_TIMES), _columns(_RULES)


class Order(NamedTuple):
    """How each of the page's tables is sorted: that of groups, or of tools where they are shown; and the others."""

    groups: Sorting
    policies: Sorting
    times: Sorting
    rules: Sorting

    @classmethod
    def asked(cls, query: QueryDict, *, has_tools: bool) -> "Order":
        """What a URL asks for."""
        return cls(
            Sorting.asked(query, TOOL_COLUMNS if has_tools else GROUP_COLUMNS),
            Sorting.asked(query, POLICY_COLUMNS, "policy_sort"),
            Sorting.asked(query, TIME_COLUMNS, "time_sort"),
            Sorting.asked(query, RULE_COLUMNS, "rule_sort"),
        )


def sorted_stats(stats: Stats, order: Order) -> Stats:
    """The same with its tables in this order."""
    stats = stats._replace(
        policies=order.policies.of(stats.policies, _POLICIES), rows=order.times.of(stats.rows, _TIMES)
    )
    if stats.tools:
        return stats._replace(tools=order.groups.of(stats.tools, _TOOLS))
    return stats._replace(groups=order.groups.of(stats.groups, _GROUPS))


def sorted_rules(rules: list[Broken], order: Order) -> list[Broken]:
    """The rules that were broken, in this order."""
    return order.rules.of(rules, _RULES)
