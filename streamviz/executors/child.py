"""A call that a run makes, as a stream of its own: what it is, what it proposes, what it used."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from streamviz.core.json_value import JsonObject


class Proposed(NamedTuple):
    """A tool call before it runs; `arguments` is JSON."""

    id: str
    name: str
    arguments: str


class Spent(NamedTuple):
    """What a call of a run used. `usage` has the chat format's fields; None is unknown. `cost` is in US dollars."""

    usage: JsonObject | None
    cost: float | None


class Child(Protocol):
    """A call that a run makes, as a stream of its own. Iterating gives the payloads of the chat chunks that get past
    the policies in force, and raises ClientFacingError if the call is refused or breaks off."""

    def __aiter__(self) -> AsyncIterator[JsonObject]: ...

    @property
    def spent(self) -> Spent:
        """What it used, once it is over."""

    async def close(self) -> None:
        """End it, even in the middle; returns once it has ended."""
