"""Sorting the tables of the Stats page."""

from typing import NamedTuple

from django.http import QueryDict

from streamviz.dashboard.sorting import Sorting
from streamviz.dashboard.stats import Stats
from streamviz.dashboard.stats_columns import (
    GROUP_COLUMNS,
    GROUP_VALUES,
    POLICY_COLUMNS,
    POLICY_VALUES,
    RULE_COLUMNS,
    RULE_VALUES,
    TIME_COLUMNS,
    TIME_VALUES,
    TOOL_COLUMNS,
    TOOL_VALUES,
)
from streamviz.records.queries.lint import Broken


class Order(NamedTuple):
    """How each of the page's tables is sorted: that of groups, or of tools if they are shown, and the others."""

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
    """The same with its tables sorted."""
    stats = stats._replace(
        policies=order.policies.of(stats.policies, POLICY_VALUES), rows=order.times.of(stats.rows, TIME_VALUES)
    )
    if stats.tools:
        return stats._replace(tools=order.groups.of(stats.tools, TOOL_VALUES))
    return stats._replace(groups=order.groups.of(stats.groups, GROUP_VALUES))


def sorted_rules(rules: list[Broken], order: Order) -> list[Broken]:
    """The rules that were broken, in this order."""
    return order.rules.of(rules, RULE_VALUES)
