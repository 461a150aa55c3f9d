"""A call that a run makes, as a stream of its own: what it is, what it proposes, what it came to."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from streamviz.core.json_value import JsonObject


class Proposed(NamedTuple):
    """A tool call before it runs; `arguments` is JSON."""

    id: str
    name: str
    arguments: str


class Spent(NamedTuple):
    """What a call of a run came to. `usage` is in the words of chat; None is unknown. `cost` is in US dollars."""

    usage: JsonObject | None
    cost: float | None


class Child(Protocol):
    """A call that a run makes: a stream of its own. Iterating gives the payloads of the chat chunks that come through
    the policies in force, and raises ClientFacingError where it is refused or breaks off."""

    def __aiter__(self) -> AsyncIterator[JsonObject]: ...

    @property
    def spent(self) -> Spent:
        """What it came to, once it is over."""

    async def close(self) -> None:
        """End it, also in the middle; returns when it has ended."""
