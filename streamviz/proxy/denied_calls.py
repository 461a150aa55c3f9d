"""Calls that clients did not get, of which the model is told in the next request.

A provider of OpenAI's responses format keeps its answers. A request that continues one by its id, or in its
conversation, is refused until each call in it has an output. Its client cannot give one for a call that it never had.

In Anthropic's format there is no place in an answer to say that a call was denied after another one was allowed
(denied_notices.py).
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, decode
from streamviz.core.request import ModelCall
from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.denied_notices import answered_calls, notices_of, with_notices
from streamviz.proxy.denied_outputs import HALTED, UNDECIDED, answered_by, outputs_for
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.session_names import ADDED, conversation_of
from streamviz.records.configuration import KnownKey

# Counts answers, and the outputs kept for their calls.
_REMEMBERED = 20_000
# OpenAI's ids have some 60 characters.
_LONGEST_ID = 200
_Key = int | None


# The formats whose answers and requests are looked at.
FORMATS = (ANTHROPIC_MESSAGES, OPENAI_RESPONSES)


class _Told(NamedTuple):
    """The outputs for a stream's calls, or the texts about them; a later stream has a greater id."""

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
    """The outputs for denied calls of the newest answers, by the answer's id and the conversation's, or in Anthropic's
    format the texts about them, by the id of the last call that the client got. They are kept in memory: `tell_others`
    passes them to the other workers, and `look_up` finds in the record outputs that are not known here. What it does
    not find is looked up again each time: Postgres may have been away, or the writer behind. Texts are not looked up,
    as no request fails without them."""

    def __init__(self) -> None:
        self.tell_others = nobody
        self.look_up: LookUp = nothing
        self._told: OrderedDict[tuple[_Key, str], _Told] = OrderedDict()
        self._count = 0

    def note(self, stream: LiveStream) -> None:
        """Note the outputs for an answer once its client has all that it gets, or is about to get the last word: from
        then on the client may continue."""
        if stream.wire_format == OPENAI_RESPONSES.name:
            names, outputs = _names_of(stream), outputs_of(stream)
        elif stream.wire_format == ANTHROPIC_MESSAGES.name and (found := notices_of(stream))[1]:
            names, outputs = (found[0],), found[1]
        else:
            return
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
        if wire_format is ANTHROPIC_MESSAGES:
            notices = self._outputs(key, answered_calls(request.fields) if self._told else ())
            fields = with_notices(request.fields, notices) if notices else request.fields
            return request.replaced_by(ModelCall(wire_format.name, fields))
        if wire_format is not OPENAI_RESPONSES:
            return request
        told = as_text(request.fields.get("previous_response_id")), conversation_of(request.fields)
        names = list(filter(_fits, dict.fromkeys(told)))
        for name in names:
            if (key.id, name) not in self._told and (found := await self.look_up(key, name)) is not None:
                self._keep((key.id, name), _Told(*found))
        outputs = self._outputs(key, names)
        return _with(request, outputs) if outputs else request

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


def _names_of(stream: LiveStream) -> tuple[str, ...]:
    """The names by which a client may continue an answer of the responses format."""
    id, conversation = as_text(stream.head.get("id")), conversation_of(stream.context.request.fields)
    # The conversation's earlier calls have their outputs by now. An answer that broke off is in no conversation.
    return (id, conversation) if stream.state.finish_reason in ADDED else (id,)


def outputs_of(stream: LiveStream) -> list[JsonObject]:
    """The outputs for the calls in an answer that its client does not have."""
    told = [(block, why) for block, why in _not_given(stream) if len(block.id) <= _LONGEST_ID]
    carried_out = _carried_out(stream) if told else ()
    left = ((block, why) for block, why in told if block.id not in carried_out)
    return [output for block, why in left for output in outputs_for(block.label, block.id, why)]


def _not_given(stream: LiveStream) -> Iterator[tuple[ToolCallStreamBlock, str]]:
    """The calls that the client did not get, and why: all from the first one that was held when the stream ended. After
    a halt, `instead` says what the client has in their place."""
    instead, holds = stream.context.instead, {} if stream.context.halted_by else stream.context.holds
    held = [ordinal for ordinal, hold in holds.items() if hold.was_cut_short]
    first = min(held, default=len(stream.state.blocks))
    for block in stream.state.blocks if instead or held else ():
        had = instead.get(block.ordinal)
        if not isinstance(block, ToolCallStreamBlock):
            continue
        if had is not None and had.kind is not BlockKind.TOOL_CALL:
            yield block, had.text or HALTED
        elif had is None and block.ordinal >= first:
            yield block, UNDECIDED


def _carried_out(stream: LiveStream) -> set[str]:
    """The calls whose output is in the answer itself, such as those of a shell at the provider."""
    return {_call_of(block.text) for block in stream.state.blocks if block.label == "shell_call_output"}


def _call_of(output: str) -> str:
    try:
        return as_text(as_object(decode(output)).get("call_id"))
    except ValueError:
        return ""


def _fits(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_ID


def _with(request: ModelRequest, outputs: Sequence[JsonObject]) -> ModelRequest:
    told = request.fields.get("input")
    said = [{"role": "user", "content": told}] if isinstance(told, str) else as_list(told)
    known = set(filter(None, map(answered_by, said)))
    left = list(_left(outputs, known))
    fields = {**request.fields, "input": [*left, *said]}
    return request.replaced_by(ModelCall(OPENAI_RESPONSES.name, fields)) if left else request


def _left(outputs: Sequence[JsonObject], known: set[str]) -> Iterator[JsonObject]:
    """The outputs for calls that are not `known`, with the texts that follow them."""
    is_known = False
    for output in outputs:
        if call := answered_by(output):
            is_known = call in known
        if not is_known:
            yield output
