"""Trying a policy on something: what the client would have got."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple
from uuid import UUID

from asgiref.sync import sync_to_async

from streamviz.bounded import rest, within
from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import Judgement
from streamviz.core.model_names import model_names
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.rerun import Recording, Rerun, chunks_of, rerun, told
from streamviz.core.wire import OPENAI_CHAT
from streamviz.live import answering
from streamviz.live.presentation.cutting import Cut, clipped, cut, share
from streamviz.records.aggregation import aggregate_tape
from streamviz.records.backtests.runner import recording_of
from streamviz.records.models import Stream
from streamviz.records.policies_in_force import policies_in_force
from streamviz.records.tapes import client_bytes

# Of each side of the result so much is shown, and of what was found so many.
SIDE_BYTES = 600_000
MOST_BLOCKS = 200
MOST_VERDICTS = 200
_LONGEST_NAME, _LONGEST_WHY = 300, 1_000


class BlockShown(NamedTuple):
    """A block as people read it."""

    kind: str
    name: str
    text: Cut


class Shown(NamedTuple):
    """The blocks of one side, as far as a page has room for them; `more` are left out."""

    blocks: list[BlockShown]
    more: int


class VerdictShown(NamedTuple):
    """A verdict as people read it, and what it is about."""

    decision: str
    about: str
    reason: str
    failure: str


class TryOut(NamedTuple):
    """What came of it: what upstream sent and what the client would have got."""

    verdicts: list[VerdictShown]
    more_verdicts: int
    upstream: Shown
    client: Shown
    finish_reason: str
    denied: bool
    is_untouched: bool
    longest_wait: int


async def try_on(recording: Recording, policies: Sequence[ActivePolicy]) -> TryOut:
    """Run policies over a recording; a judge's model is really asked."""
    made = await rerun(recording, policies, answering.answer, within, rest)
    wire_format, is_streaming = recording.call.wire_format, recording.is_streaming
    # What took many steps to send is read at once: elsewhere, for clients come first.
    reading = partial(told, wire_format, made.frames, is_streaming=is_streaming)
    client = await asyncio.to_thread(reading) if made.frames else StreamState()
    return TryOut(
        [_verdict(judgement) for judgement in made.judgements[:MOST_VERDICTS]],
        max(0, len(made.judgements) - MOST_VERDICTS),
        _shown(made.state),
        _shown(client),
        clipped(client.finish_reason or "", _LONGEST_NAME),
        made.denied is not None,
        _is_untouched(made, recording),
        made.longest_wait,
    )


class Replayed(NamedTuple):
    """What the policies in force would make of a recorded stream, and what its client got then."""

    now: TryOut
    then: Shown
    policies: list[str]

    @property
    def pairs(self) -> list[tuple[BlockShown | None, BlockShown | None, bool]]:
        """Block by block what the client got, what it would get, and whether that is the same."""
        both = zip_longest(self.then.blocks, self.now.client.blocks)
        return [(then, now, then == now) for then, now in both]

    @property
    def is_same(self) -> bool:
        return all(same for _, _, same in self.pairs)


async def replay(stream_id: UUID) -> Replayed | str:
    """A stream run through the policies in force, as if they had been then; or why it cannot be. Nobody is asked by
    hand: what a person would decide counts as denied."""
    recording = await recorded(stream_id)
    if isinstance(recording, str):
        return recording
    return await _replay(await Stream.objects.select_related("key").aget(pk=stream_id), recording)


async def _replay(stream: Stream, recording: Recording) -> Replayed:
    names = model_names(stream.requested_model, stream.provider, stream.upstream_model)
    key_name = stream.key.name if stream.key else ""
    found = await sync_to_async(policies_in_force)()
    chosen = [each.active for each in found if each.active and not each.why_not(names, key_name)]
    now = await try_on(recording, [replace(active, by_hand=None) for active in chosen])
    then = await sync_to_async(_got)(stream)
    return Replayed(now, _shown(then), [active.name for active in chosen])


def _got(stream: Stream) -> StreamState:
    return aggregate_tape(stream.wire_format, b"".join(client_bytes(stream.pk))).state


async def recorded(stream_id: UUID) -> Recording | str:
    """A stream of the record, or why it cannot be run again."""
    stream = await Stream.objects.select_related("key").filter(pk=stream_id).afirst()
    if stream is None:
        return "no such stream"
    return await sync_to_async(recording_of)(stream)


def pasted(subject: str, name: str, text: str, tools: Any) -> Recording:
    """A stream in which the model says this, in a few pieces."""
    fields: JsonObject = {"model": "pasted", "messages": [], "tools": tools if isinstance(tools, list) else []}
    pieces = [text[at : at + 20] for at in range(0, len(text), 20)] or [""]
    if subject == "tool_call":
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
        deltas: list[Any] = [{"tool_calls": [call]}]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    else:
        field = "reasoning_content" if subject == "thinking" else "content"
        deltas = [{field: piece} for piece in pieces]
    finish = "tool_calls" if subject == "tool_call" else "stop"
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    data = "".join(f"data: {json.dumps({'id': 'pasted', 'choices': [choice]})}\n\n" for choice in choices)
    return Recording(ModelCall(OPENAI_CHAT.name, fields), chunks_of(f"{data}data: [DONE]\n\n".encode()), True)


def _is_untouched(made: Rerun, recording: Recording) -> bool:
    sent = b"".join(frame.raw for frame in made.frames)
    chunks: list[Chunk] = list(recording.chunks)
    return sent == b"".join(chunk.raw for chunk in chunks)


def _shown(state: StreamState) -> Shown:
    blocks = state.blocks[:MOST_BLOCKS]
    room = share((block.text for block in blocks), SIDE_BYTES)
    return Shown([_block(block, room) for block in blocks], len(state.blocks) - len(blocks))


def _block(block: StreamBlock, room: int) -> BlockShown:
    return BlockShown(str(block.kind), clipped(block.name, _LONGEST_NAME), cut(block.text, room))


def _verdict(judgement: Judgement) -> VerdictShown:
    about = f"the {judgement.subject}" if judgement.ordinal is None else f"block {judgement.ordinal}"
    reason, failure = (clipped(why, _LONGEST_WHY) for why in (judgement.verdict.reason, judgement.failure))
    return VerdictShown(str(judgement.verdict.decision), about, reason, failure)
