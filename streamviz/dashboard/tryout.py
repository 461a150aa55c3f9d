"""Trying a policy on something: what the client would have got."""

import asyncio
import json
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from asgiref.sync import sync_to_async

from streamviz.bounded import rest, within
from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import OtherStreamBlock, StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import Judgement
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.rerun import Recording, Rerun, chunks_of, rerun, told
from streamviz.core.wire import OPENAI_CHAT
from streamviz.live import answering
from streamviz.live.presentation.cutting import Cut, clipped, cut, share
from streamviz.records.backtests.runner import recording_of
from streamviz.records.models import Stream

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


async def try_on(recording: Recording, active: ActivePolicy) -> TryOut:
    """Run a policy over a recording; a judge's model is really asked."""
    made = await rerun(recording, [active], answering.answer, within, rest)
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
    name = block.name if isinstance(block, ToolCallStreamBlock | OtherStreamBlock) else ""
    return BlockShown(str(block.kind), clipped(name, _LONGEST_NAME), cut(block.text, room))


def _verdict(judgement: Judgement) -> VerdictShown:
    about = f"the {judgement.subject}" if judgement.ordinal is None else f"block {judgement.ordinal}"
    reason, failure = (clipped(why, _LONGEST_WHY) for why in (judgement.verdict.reason, judgement.failure))
    return VerdictShown(str(judgement.verdict.decision), about, reason, failure)
