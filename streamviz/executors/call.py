"""The call that an executor answers, and what it can do with it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from streamviz.core.json_value import JsonObject
from streamviz.executors.child import Child, Proposed
from streamviz.executors.tools import Toolbox
from streamviz.upstream.answer import Answer
from streamviz.upstream.structured import Structure


class Asked(NamedTuple):
    """What a client asked for. `id` identifies its call permanently, `fields` is the request as policies left it, in
    the client's `wire_format`; `wants_events` says that it also wants the executor's own events with the answer."""

    id: str
    wire_format: str
    model: str
    fields: JsonObject
    is_streaming: bool
    wants_events: bool


class Call(Protocol):
    """A client's call, and what an executor can do with it."""

    @property
    def asked(self) -> Asked:
        """What the client asked for."""

    async def pass_through(self) -> Answer:
        """Send the request to its model. Raises UpstreamError if upstream refuses it or cannot be reached."""

    async def as_chat(self) -> JsonObject:
        """The request in the chat format. Raises ClientFacingError for what that format cannot express."""

    async def structure(self) -> Structure:
        """How the model can be asked for JSON."""

    @property
    def most_output(self) -> int | None:
        """The most tokens that the model can write; None if unknown. Call `structure` first."""

    def ask(self, part: str, request: JsonObject) -> Child:
        """Make a call of the run: a chat request that streams. `part` is what pages say it is for."""

    def propose(self, part: str, calls: Sequence[Proposed]) -> Child:
        """Have the policies judge tool calls as if a model had made them: those that come back may run."""

    def tools(self, names: Sequence[str], seconds: float) -> Toolbox:
        """The tools whose names match any of these globs, with `seconds` as the time limit of each call."""
