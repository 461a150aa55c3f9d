"""A non-streaming answer of OpenAI's chat completions, from blocks.

Format: https://platform.openai.com/docs/api-reference/chat/object.
"""

from collections.abc import Iterable

from streamviz.core.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.calls import LEGACY_CALL
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject
from streamviz.core.media import CHAT_PARTS
from streamviz.core.wire.openai_chat_calls import CUSTOM
from streamviz.core.wire.openai_chat_thinking import SPECIFIC, THINKING_FIELDS

_FIELDS = {
    BlockKind.CONTENT: "content",
    BlockKind.THINKING: "reasoning_content",
    BlockKind.REFUSAL: "refusal",
}
_MEDIA_FIELDS = ("audio", "images")
MEDIA = CHAT_PARTS.union(_MEDIA_FIELDS)
_SAYING = frozenset(("content", "refusal", "tool_calls", "function_call", *THINKING_FIELDS, SPECIFIC, *_MEDIA_FIELDS))


def build_message(state: StreamState, head: JsonObject) -> JsonObject:
    """A `chat.completion` of all blocks; `head` gives its id, created and model."""
    message: JsonObject = {"id": "", "object": "chat.completion", "created": 0, "model": "", **head}
    choices = by_choice(state.blocks)
    message["choices"] = [
        {
            "index": number,
            "message": message_of(choices.get(number, [])),
            "finish_reason": state.finish_reasons.get(number),
        }
        for number in sorted(choices.keys() | state.finish_reasons.keys())
    ]
    if state.usage is not None:
        message["usage"] = state.usage
    return message


def message_of(blocks: list[StreamBlock]) -> JsonObject:
    """The assistant's message of one choice; an absent content is null, as the format has it."""
    message: JsonObject = {"role": "assistant", "content": None}
    for kind, field in _FIELDS.items():
        if text := "".join(block.text for block in blocks if block.kind is kind):
            message[field] = text
    calls = [block for block in blocks if isinstance(block, ToolCallStreamBlock)]
    if tools := [call_of(block) for block in calls if block.label != LEGACY_CALL]:
        message["tool_calls"] = tools
    if legacy := [block for block in calls if block.label == LEGACY_CALL]:
        message["function_call"] = {"name": legacy[-1].name, "arguments": legacy[-1].arguments}
    return message


def by_choice(blocks: Iterable[StreamBlock]) -> dict[int, list[StreamBlock]]:
    """The blocks of each choice, in their order."""
    choices: dict[int, list[StreamBlock]] = {}
    for block in blocks:
        choices.setdefault(block.choice, []).append(block)
    return choices


def call_of(block: ToolCallStreamBlock) -> JsonObject:
    """An item of `tool_calls`."""
    if block.label == CUSTOM:
        return {"id": block.id, "type": CUSTOM, CUSTOM: {"name": block.name, "input": block.text}}
    function = {"name": block.name, "arguments": block.arguments}
    return {"id": block.id, "type": block.label or "function", "function": function}


def says(message: JsonObject) -> bool:
    """Whether a message, or a delta, has anything that blocks are made of."""
    return any(map(message.get, _SAYING))


def says_else(message: JsonObject, delta: JsonObject) -> bool:
    """Whether clients that read the message get something different from those that read the delta."""
    return any(message.get(key) and message[key] != delta.get(key) for key in message.keys() & _SAYING)
