"""What the tables of the Stats page can be sorted by."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from streamviz.dashboard.policy_figures import PolicyRow
from streamviz.dashboard.stats import GroupRow
from streamviz.dashboard.stats_drawings import Row
from streamviz.records.queries.lint import Broken
from streamviz.records.queries.tool_figures import ToolFigures

RowT = TypeVar("RowT")

GROUP_VALUES: dict[str, Callable[[GroupRow], Any]] = {
    "name": lambda row: row.name.lower(),
    "streams": lambda row: row.bucket.streams,
    "failed": lambda row: row.failed,
    "halted": lambda row: row.bucket.halted,
    "tokens": lambda row: row.bucket.output_tokens,
    "cost": lambda row: row.bucket.cost,
    "ttft_upstream": lambda row: row.bucket.ttft_upstream_p95,
    "ttft_client": lambda row: row.bucket.ttft_client_p95,
    "tpot": lambda row: row.bucket.tpot_p95,
}
TOOL_VALUES: dict[str, Callable[[ToolFigures], Any]] = {
    "name": lambda row: row.name.lower(),
    "calls": lambda row: row.calls,
    "streams": lambda row: row.streams,
    "tokens": lambda row: row.output_tokens,
    "cost": lambda row: row.cost,
}
POLICY_VALUES: dict[str, Callable[[PolicyRow], Any]] = {
    "name": lambda row: row.name,
    "verdicts": lambda row: row.figures and row.figures.verdicts,
    "intervened": lambda row: row.figures and row.figures.interventions,
    "shadow": lambda row: row.figures and row.figures.would,
    "failures": lambda row: row.figures and row.figures.failures,
    "held": lambda row: row.holds and row.holds.blocks,
    "hold": lambda row: row.holds and row.holds.p95,
}
TIME_VALUES: dict[str, Callable[[Row], Any]] = {
    "from": lambda row: row.bucket.at,
    "streams": lambda row: row.bucket.streams,
    "running": lambda row: row.bucket.running,
    "left": lambda row: row.bucket.left,
    "failed": lambda row: row.failed,
    "halted": lambda row: row.bucket.halted,
    "in": lambda row: row.bucket.input_tokens,
    "cached": lambda row: row.bucket.cached_tokens,
    "out": lambda row: row.bucket.output_tokens,
    "cost": lambda row: row.bucket.cost,
    "ttft_upstream": lambda row: row.bucket.ttft_upstream_p95,
    "ttft_client": lambda row: row.bucket.ttft_client_p95,
    "itl": lambda row: row.bucket.itl_p95,
    "tpot": lambda row: row.bucket.tpot_p95,
}
RULE_VALUES: dict[str, Callable[[Broken], Any]] = {
    "name": lambda row: row.rule,
    "provider": lambda row: row.provider.lower(),
    "model": lambda row: row.model.lower(),
    "streams": lambda row: row.streams,
    "times": lambda row: row.times,
}
_WORDS = {"name", "provider", "model"}


def _columns(values: Mapping[str, Callable[[RowT], Any]]) -> dict[str, bool]:
    return {name: name not in _WORDS for name in values}


GROUP_COLUMNS, TOOL_COLUMNS, POLICY_COLUMNS = _columns(GROUP_VALUES), _columns(TOOL_VALUES), _columns(POLICY_VALUES)
TIME_COLUMNS, RULE_COLUMNS = _columns(TIME_VALUES), _columns(RULE_VALUES)
