"""The tables of the Stats page by what they show."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from streamviz.dashboard.policy_figures import PolicyRow
from streamviz.dashboard.sorting import Sorting
from streamviz.dashboard.stats import GroupRow, Stats
from streamviz.records.queries.latencies import ToolFigures

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


def _columns(values: Mapping[str, Callable[[RowT], Any]]) -> dict[str, bool]:
    return {name: name != "name" for name in values}


GROUP_COLUMNS, TOOL_COLUMNS, POLICY_COLUMNS = _columns(_GROUPS), _columns(_TOOLS), _columns(_POLICIES)


def sorted_stats(stats: Stats, groups: Sorting, policies: Sorting) -> Stats:
    """The same with its tables in these orders: of groups, or of tools where they are shown, and of policies."""
    by_policy = policies.of(stats.policies, _POLICIES)
    if stats.tools:
        return stats._replace(tools=groups.of(stats.tools, _TOOLS), policies=by_policy)
    return stats._replace(groups=groups.of(stats.groups, _GROUPS), policies=by_policy)
