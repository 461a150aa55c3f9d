"""What a run may use before it writes its answer, and what it has used: several calls, added up."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, is_number
from streamviz.core.tokens import tokens_of
from streamviz.executors.child import Spent


class Limits(NamedTuple):
    """The limits of a run. `seconds` count from its beginning; None is no limit."""

    steps: int
    tool_calls: int
    seconds: float
    tokens: int | None = None
    dollars: float | None = None


@dataclass(slots=True)
class Budget:
    """What a run has used of its limits. `tokens` and `dollars` are None once a call did not report them: a limit on an
    unknown amount counts as reached."""

    limits: Limits
    tool_calls: int = 0
    dollars: float | None = 0.0
    tokens: int | None = 0
    # The sum over all calls; None once one of them did not report it.
    usage: JsonObject | None = field(default_factory=dict)
    ends_at: float = 0.0

    def __post_init__(self) -> None:
        self.ends_at = asyncio.get_running_loop().time() + self.limits.seconds

    @property
    def calls_left(self) -> int:
        """How many more tool calls may be made."""
        return max(0, self.limits.tool_calls - self.tool_calls)

    @property
    def tokens_left(self) -> int | None:
        """How many more tokens may be used; None is any number."""
        return None if self.limits.tokens is None else max(0, self.limits.tokens - (self.tokens or 0))

    def why_over(self) -> str:
        """The name of the limit that is reached; empty if none is."""
        limits = self.limits
        if asyncio.get_running_loop().time() >= self.ends_at:
            return "seconds"
        if limits.tokens is not None and (self.tokens is None or self.tokens >= limits.tokens):
            return "tokens"
        if limits.dollars is not None and (self.dollars is None or self.dollars >= limits.dollars):
            return "dollars"
        return ""

    def spend(self, spent: Spent) -> None:
        """Add what a call used."""
        tokens = tokens_of(spent.usage)
        if self.tokens is None or tokens.input is None or tokens.output is None:
            self.tokens = None
        else:
            self.tokens += tokens.input + tokens.output
        self.dollars = None if self.dollars is None or spent.cost is None else self.dollars + spent.cost
        self.usage = None if self.usage is None or spent.usage is None else added(self.usage, spent.usage)


def added(one: JsonObject, other: JsonObject) -> JsonObject:
    """The sum of two usage objects: of all numbers, including nested ones. Otherwise the later value is kept."""
    return {name: _sum(one.get(name), other.get(name)) for name in (*one, *(other.keys() - one.keys()))}


def _sum(one: object, other: object) -> object:
    if isinstance(one, dict) and isinstance(other, dict):
        return added(one, other)
    if is_number(one) and is_number(other):
        return one + other
    return one if other is None else other
