"""Calls that clients of OpenAI's responses did not get, and that the provider, which keeps its answers, waits for.

A request that goes on from such an answer by its id, or in its conversation, is refused until each call in it has an
output. Its client cannot give one for a call that it never had.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.calls import LEGACY_CALL
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.request import ModelCall
from streamviz.core.wire import OPENAI_RESPONSES
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.requests import ModelRequest

_REMEMBERED = 5_000
_Key = int | None
# How an answer ends that its provider adds to its conversation.
_KEPT_THERE = ("completed", "incomplete")

# Of a call that came behind where a policy halted the answer.
_HALTED = "[Not carried out: a policy halted the answer before it.]"
# What says that a call was not carried out, by what its wire calls it. Of a computer that would be a picture.
_OUTPUTS: dict[str, Callable[[str], JsonObject]] = {
    LEGACY_CALL: lambda why: {"type": "function_call_output", "output": why},
    "custom_tool_call": lambda why: {"type": "custom_tool_call_output", "output": why},
    "apply_patch_call": lambda why: {"type": "apply_patch_call_output", "status": "failed", "output": why},
    "shell_call": lambda why: {"type": "shell_call_output", "output": [_shell(why)]},
}


def _shell(why: str) -> JsonObject:
    return {"stdout": "", "stderr": why, "outcome": {"type": "exit", "exit_code": 1}}


class DeniedCalls:
    """What to say of them, by the answer's id or the conversation's; of the newest answers of this worker."""

    def __init__(self) -> None:
        self._outputs: OrderedDict[tuple[_Key, str], list[JsonObject]] = OrderedDict()

    def note(self, stream: LiveStream) -> None:
        """A client has all that it gets of an answer."""
        if stream.wire_format != OPENAI_RESPONSES.name:
            return
        id, conversation = _names_of(stream)
        outputs = outputs_of(stream)
        if id:
            self._keep(stream.key_id, id, outputs)
        if conversation and (outputs or stream.state.finish_reason in _KEPT_THERE):
            # The calls before have their outputs by now.
            self._keep(stream.key_id, conversation, outputs)

    def answered(self, key_id: _Key, request: ModelRequest, running: Iterable[LiveStream]) -> ModelRequest:
        """The request with outputs of calls that its client does not know of; some clients go on before the answer's
        stream, which is `running` then, is over."""
        told = as_text(request.fields.get("previous_response_id")), _conversation_of(request.fields)
        ids = set(filter(None, told))
        if not ids:
            return request
        for stream in running:
            if stream.key_id == key_id and stream.state.finish_reason and not ids.isdisjoint(_names_of(stream)):
                self.note(stream)
        found = [output for id in ids for output in self._outputs.get((key_id, id), ())]
        return _with(request, found) if found else request

    def _keep(self, key_id: _Key, id: str, outputs: list[JsonObject]) -> None:
        self._outputs.pop((key_id, id), None)
        if outputs:
            self._outputs[key_id, id] = outputs
        if len(self._outputs) > _REMEMBERED:
            self._outputs.popitem(last=False)


def outputs_of(stream: LiveStream) -> list[JsonObject]:
    """What to say of the calls in an answer that its client does not have."""
    outputs: list[JsonObject] = []
    for ordinal, instead in stream.context.instead.items():
        block = stream.state.blocks[ordinal] if ordinal < len(stream.state.blocks) else None
        if not isinstance(block, ToolCallStreamBlock) or instead.kind is BlockKind.TOOL_CALL:
            continue
        if (output := _OUTPUTS.get(block.label or LEGACY_CALL)) is not None:
            outputs.append({**output(instead.text or _HALTED), "call_id": block.id})
    return outputs


def _names_of(stream: LiveStream) -> tuple[str, str]:
    """What a request that goes on from an answer calls it, or the conversation that it is in."""
    return as_text(stream.head.get("id")), _conversation_of(stream.context.request.fields)


def _conversation_of(fields: JsonObject) -> str:
    told = fields.get("conversation")
    return as_text(as_object(told).get("id")) if isinstance(told, dict) else as_text(told)


def _with(request: ModelRequest, outputs: Sequence[JsonObject]) -> ModelRequest:
    told = request.fields.get("input")
    said = [{"role": "user", "content": told}] if isinstance(told, str) else as_list(told)
    known = {as_text(as_object(item).get("call_id")) for item in said}
    left = [output for output in outputs if output["call_id"] not in known]
    fields = {**request.fields, "input": [*left, *said]}
    return request.replaced_by(ModelCall(OPENAI_RESPONSES.name, fields)) if left else request
