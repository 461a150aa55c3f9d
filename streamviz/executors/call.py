"""The call that an executor answers, and what can be done about it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from streamviz.core.json_value import JsonObject
from streamviz.executors.child import Child, Proposed
from streamviz.executors.tools import Toolbox
from streamviz.upstream.answer import Answer
from streamviz.upstream.structured import Structure


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

    @property
    def most_output(self) -> int | None:
        """How many tokens the model writes at most; None where nobody knows. `structure` has to be asked first."""

    def ask(self, part: str, request: JsonObject) -> Child:
        """Make a call of the run: a chat request for a stream. `part` says what it is for, on pages."""

    def propose(self, part: str, calls: Sequence[Proposed]) -> Child:
        """Have the policies judge tool calls, as if a model had made them: those that come back may run."""

    def tools(self, names: Sequence[str], seconds: float) -> Toolbox:
        """The tools whose names match any of these globs, each with so many seconds for a call."""
