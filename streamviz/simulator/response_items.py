"""The output items that OpenAI's responses consist of, their parts, and how they end."""

from typing import Literal

from streamviz.simulator.reply import HEX, JsonObject, Reply
from streamviz.simulator.steps import Part

Status = Literal["in_progress", "completed", "incomplete", "failed"]


def final_status(reply: Reply) -> Status:
    """How the whole answer ends; it stays in progress if it never says."""
    match reply.script.finish_reason:
        case None:
            return "in_progress"
        case "length":
            return "incomplete"
        case _:
            return "completed"


def item_status(reply: Reply) -> Status:
    """How an item ends, once it has."""
    return "incomplete" if reply.script.finish_reason == "length" else "completed"


def item(reply: Reply, part: Part, output_index: int, status: Status) -> JsonObject:
    """An output item with one part; empty while it is in progress."""
    if part.kind == "thinking":
        summary = [] if status == "in_progress" else [part_object(part)]
        return {"id": item_id(reply, part, output_index), "type": "reasoning", "summary": summary}
    if part.kind == "tool":
        return {
            "id": item_id(reply, part, output_index),
            "type": "function_call",
            "status": status,
            "arguments": part.text,
            "call_id": reply.make_id("call_", 24, part.call),
            "name": part.name,
        }
    return {
        "id": item_id(reply, part, output_index),
        "type": "message",
        "status": status,
        "content": [] if status == "in_progress" else [part_object(part)],
        "role": "assistant",
    }


def item_id(reply: Reply, part: Part, output_index: int) -> str:
    """The id of the item at this index of the output."""
    prefix = {"thinking": "rs_", "tool": "fc_"}.get(part.kind, "msg_")
    return reply.make_id(prefix, 50, output_index, HEX)


def part_object(part: Part) -> JsonObject:
    """A part of a message's content or of a reasoning item's summary."""
    match part.kind:
        case "thinking":
            return {"type": "summary_text", "text": part.text}
        case "refusal":
            return {"type": "refusal", "refusal": part.text}
        case _:
            return {"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}
