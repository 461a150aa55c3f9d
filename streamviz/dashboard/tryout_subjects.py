"""What a policy can be tried on: a stream of the record, or what somebody pastes."""

import json
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async

from streamviz.core.json_value import JsonObject
from streamviz.core.request import ModelCall
from streamviz.core.rerun import Recording, chunks_of
from streamviz.core.wire import OPENAI_CHAT
from streamviz.records.backtests.runner import recording_of
from streamviz.records.models import Stream


async def recorded(stream_id: UUID) -> Recording | str:
    """A stream of the record, or why it cannot be run again."""
    stream = await Stream.objects.select_related("key").filter(pk=stream_id).afirst()
    if stream is None:
        return "no such stream"
    return await sync_to_async(recording_of)(stream)


def pasted(subject: str, name: str, text: str, tools: Any) -> Recording:
    """A stream in which the model says this, in small pieces."""
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
