"""Calls that clients did not get, of which the model is told in the next request.

A provider of OpenAI's responses format keeps its answers, and refuses a request that continues one until each call in
it has an output (denied_outputs.py). In Anthropic's format there is no place in an answer to say that a call was denied
after another one was allowed (denied_notices.py).
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from streamviz.core.json_value import JsonObject
from streamviz.core.request import ModelCall
from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.stream import LiveStream
from streamviz.proxy import denied_notices, denied_outputs
from streamviz.proxy.requests import ModelRequest
from streamviz.records.configuration import KnownKey

# Counts answers, and what is to be said of their calls.
_REMEMBERED = 20_000
# OpenAI's ids have some 60 characters.
_LONGEST_NAME = 200
# Of an answer that has ended: how many changed blocks are noted before its client has the last word.
_NOTED_AHEAD = 50
_Key = int | None


class Telling(Protocol):
    """How a format's next request tells its model."""

    # Whether what is not known here is looked up in the record: the provider refuses a request without it.
    IS_RECORDED: bool

    def told_of(self, stream: LiveStream, /) -> tuple[Iterable[str], list[JsonObject]]:
        """The names by which the next request may refer to an answer, and what is to be said of its calls."""

    def names_in(self, fields: JsonObject, /) -> Iterable[str]:
        """The names of answers to which a request refers."""

    def with_told(self, fields: JsonObject, told: Sequence[JsonObject], /) -> JsonObject:
        """The fields of a request that says so; the same object if it has all of it."""


FORMATS: dict[str, Telling] = {ANTHROPIC_MESSAGES.name: denied_notices, OPENAI_RESPONSES.name: denied_outputs}


class _Told(NamedTuple):
    """What is to be said of a stream's calls; a later stream has a greater id."""

    stream: UUID
    outputs: list[JsonObject]


Found = tuple[UUID, list[JsonObject]]
LookUp = Callable[[KnownKey, str], Awaitable[Found | None]]


def nobody(key_id: _Key, names: Sequence[str], stream_id: UUID, outputs: list[JsonObject]) -> None:
    """Tell no other workers: the default."""


async def nothing(key: KnownKey, name: str) -> Found | None:
    """Find nothing, having no record to look in: the default."""
    return None


class DeniedCalls:
    """What is to be said of the calls in the newest answers, by the names of these. It is kept in memory: `tell_others`
    passes it to the other workers, and `look_up` finds in the record what is not known here. What it does not find is
    looked up again each time: Postgres may have been away, or the writer behind."""

    def __init__(self) -> None:
        self.tell_others = nobody
        self.look_up: LookUp = nothing
        self._told: OrderedDict[tuple[_Key, str], _Told] = OrderedDict()
        self._count = 0

    def noting_ahead(self, stream: LiveStream) -> Callable[[], None] | None:
        """What is to be called before each time that something is sent, to note a stream's calls before its client has
        the last word: from then on the client may continue. None if nothing is said of calls in its format."""
        return _Ahead(stream, self.note) if stream.wire_format in FORMATS else None

    def note(self, stream: LiveStream) -> None:
        """Note what is to be said of an answer's calls, once its client has all that it gets or is about to."""
        telling = FORMATS.get(stream.wire_format)
        if telling is None:
            return
        names, outputs = telling.told_of(stream)
        told = stream.key_id, list(filter(_fits, names)), stream.id, outputs
        if self.take(*told):
            self.tell_others(*told)

    def take(self, key_id: _Key, names: Sequence[str], stream_id: UUID, outputs: list[JsonObject]) -> bool:
        """Keep the outputs for an answer's calls, by its names. Return whether they are new."""
        told = _Told(stream_id, outputs)
        kept = [self._keep((key_id, name), told) for name in names]
        return any(kept)

    async def answered(self, key: KnownKey, request: ModelRequest, wire_format: WireFormat) -> ModelRequest:
        """The request with what is to be said of calls that its client does not know of."""
        telling = FORMATS.get(wire_format.name)
        if telling is None or not (self._told or telling.IS_RECORDED):
            return request
        names = list(filter(_fits, dict.fromkeys(telling.names_in(request.fields))))
        for name in names if telling.IS_RECORDED else ():
            if (key.id, name) not in self._told and (found := await self.look_up(key, name)) is not None:
                self._keep((key.id, name), _Told(*found))
        outputs = self._outputs(key, names)
        fields = telling.with_told(request.fields, outputs) if outputs else request.fields
        return request.replaced_by(ModelCall(wire_format.name, fields))

    def _outputs(self, key: KnownKey, names: Iterable[str]) -> list[JsonObject]:
        known = [self._told[key.id, name] for name in names if (key.id, name) in self._told]
        return [output for told in known for output in told.outputs]

    def _keep(self, key: tuple[_Key, str], told: _Told) -> bool:
        """Return whether this says anything new. A conversation may have continued before an earlier answer in it is
        noted; that one is ignored."""
        known = self._told.get(key)
        if known is not None and known.stream > told.stream:
            return False
        self._forget(key)
        self._told[key] = told
        self._count += 1 + len(told.outputs)
        while self._count > _REMEMBERED:
            self._forget(next(iter(self._told)))
        return told.outputs != (known.outputs if known else [])

    def _forget(self, key: tuple[_Key, str]) -> None:
        if (told := self._told.pop(key, None)) is not None:
            self._count -= 1 + len(told.outputs)


class _Ahead:
    """Notes an answer that has ended, and again when policies have decided on the rest. Each time looks at all blocks,
    so this has a limit: an upstream may go on after the end."""

    def __init__(self, stream: LiveStream, note: Callable[[LiveStream], None]) -> None:
        self._stream = stream
        self._note = note
        self._noted: int | None = None

    def __call__(self) -> None:
        if not self._stream.state.finish_reason:
            return
        changed = len(self._stream.context.instead)
        if self._noted is None or self._noted < changed <= _NOTED_AHEAD:
            self._noted = changed
            self._note(self._stream)


def _fits(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME
