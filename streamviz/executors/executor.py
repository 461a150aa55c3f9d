"""What an executor is, and what it has of the call that it answers."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec

from streamviz.core.errors import StreamvizError
from streamviz.core.json_value import JsonObject
from streamviz.executors.tools import Toolbox
from streamviz.upstream.answer import Answer
from streamviz.upstream.structured import Structure


class ExecutorError(StreamvizError):
    """There is no such executor, or it does not take these parameters."""


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


class Asked(NamedTuple):
    """What a client asked. `id` names its call for good, `fields` is the request as policies left it, in the client's
    `wire_format`; `wants_events` says that it asked for an executor's own events beside the answer."""

    id: str
    wire_format: str
    model: str
    fields: JsonObject
    is_streaming: bool
    wants_events: bool


class Call(Protocol):
    """A client's call, and what can be done about it."""

    @property
    def asked(self) -> Asked:
        """What it is."""

    async def pass_through(self) -> Answer:
        """Send the request where it goes. Raises UpstreamError where upstream refuses or cannot be reached."""

    async def as_chat(self) -> JsonObject:
        """The request as one of chat. Raises ClientFacingError for what cannot be said there."""

    async def structure(self) -> Structure:
        """How the model can be asked for JSON."""

    def ask(self, part: str, request: JsonObject) -> Child:
        """Make a call of the run: a chat request for a stream. `part` says what it is for, on pages."""

    def propose(self, part: str, calls: Sequence[Proposed]) -> Child:
        """Have the policies judge tool calls, as if a model had made them: those that come back may run."""

    def tools(self, names: Sequence[str], seconds: float) -> Toolbox:
        """The tools whose names match any of these globs, each with so many seconds for a call."""


class Executor(ABC):
    """Answers calls. One object serves all calls of a route: what it keeps of one lies in its answer."""

    name: ClassVar[str]
    # Whether it answers with one call of the model. Else it makes calls of its own, which are counted by themselves.
    calls_model: ClassVar[bool] = True
    # A msgspec.Struct: its fields, their types and bounds are what an operator can set.
    Parameters: ClassVar[type[msgspec.Struct]]

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @property
    def shown(self) -> str:
        """What the record and pages call a stream that it answers; nothing where that is one call."""
        return "" if self.calls_model else self.name

    @abstractmethod
    async def open(self, call: Call) -> Answer:
        """Begin to answer. Raises ClientFacingError where there is to be no answer."""
