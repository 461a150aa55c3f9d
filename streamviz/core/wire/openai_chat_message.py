"""The non-streaming answer of OpenAI's chat completions, from blocks.

Format: https://platform.openai.com/docs/api-reference/chat/object.
"""

from streamviz.core.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject

# The same thinking can come in two of these at once: the first that holds text counts.
THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_FIELDS = {
    BlockKind.CONTENT: "content",
    BlockKind.THINKING: "reasoning_content",
    BlockKind.REFUSAL: "refusal",
}


def build_message(state: StreamState, head: JsonObject) -> JsonObject:
    """A `chat.completion` of all blocks; `head` gives its id, created and model."""
    message: JsonObject = {"id": "", "object": "chat.completion", "created": 0, "model": "", **head}
    numbers = sorted({block.choice for block in state.blocks} | set(state.finish_reasons))
    message["choices"] = [
        {
            "index": number,
            "message": message_of([block for block in state.blocks if block.choice == number]),
            "finish_reason": state.finish_reasons.get(number),
        }
        for number in numbers
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
    calls = [_call(block) for block in blocks if isinstance(block, ToolCallStreamBlock)]
    if calls:
        message["tool_calls"] = calls
    return message


def _call(block: ToolCallStreamBlock) -> JsonObject:
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": block.arguments}}
