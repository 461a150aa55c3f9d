"""Anthropic's messages, as Anthropic and the gateways that speak its format stream them.

Format: https://docs.anthropic.com/en/api/messages-streaming. Blocks are numbered and have an explicit end; gateways
leave out starts and stops, and a message may come with its content, or its stop reason, in its very first event.
"""

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_list, as_object, as_text, objects
from streamviz.core.wire.anthropic_messages_message import build_message
from streamviz.core.wire.arguments import as_arguments

KINDS = {
    "text": BlockKind.CONTENT,
    "thinking": BlockKind.THINKING,
    "redacted_thinking": BlockKind.THINKING,
    "tool_use": BlockKind.TOOL_CALL,
}
# What a delta's field adds to; the second name is the block that begins where its start was never sent.
_DELTA_FIELDS = (
    ("text", BlockKind.CONTENT, "text"),
    ("thinking", BlockKind.THINKING, "thinking"),
    ("partial_json", BlockKind.TOOL_CALL, "tool_use"),
)
_UNLABELLED = ("text", "thinking", "tool_use")


class AnthropicMessagesAggregator(Aggregator[Chunk, JsonObject]):
    """Reads the events of a message stream, and a whole `message` as one chunk.

    `head` is the message without its content and usage, as far as it has come; it stays the same object for the
    whole stream.
    """

    def clear(self) -> None:
        super().clear()
        self.head: JsonObject = {}
        self._usage: JsonObject = {}
        self._unsealed: dict[int, StreamBlock] = {}
        self._parts: dict[int, JsonObject] = {}
        self._next_index = 0
        self._last_index = 0

    def _read(self, payload: JsonObject, name: str) -> None:
        match as_text(payload.get("type")) or name:
            case "content_block_delta":
                self._read_delta(self._index(payload, self._last_index), as_object(payload.get("delta")))
            case "content_block_start":
                self._start_block(self._index(payload, self._next_index), as_object(payload.get("content_block")))
            case "content_block_stop":
                self._seal(self._index(payload, self._last_index))
            case "message_start":
                self._read_message(as_object(payload.get("message")))
            case "message_delta":
                self._read_end(as_object(payload.get("delta")), payload.get("usage"))
            case "message":
                self._read_message(payload)
                self._seal_all()
            case "message_stop":
                self.has_end_mark = True
                self._read_end({}, payload.get("usage"))
                self._seal_all()
            case "error":
                self._fail(payload.get("error") or payload)
            case _:
                if error := payload.get("error"):
                    self._fail(error)

    def _index(self, payload: JsonObject, otherwise: int) -> int:
        index = as_index(payload.get("index"))
        return otherwise if index is None else index

    def _read_message(self, message: JsonObject) -> None:
        self.head.update({key: value for key, value in message.items() if key not in ("content", "usage")})
        for part in objects(message.get("content")):
            self._start_block(self._next_index, part)
        self._read_end(message, message.get("usage"))

    def _read_end(self, end: JsonObject, usage: object) -> None:
        """The fields of a message that come at its end; usage there corrects what the message began with."""
        for key in ("stop_reason", "stop_sequence", "stop_details", "container"):
            if (value := end.get(key)) is not None:
                self.head[key] = value
        if isinstance(usage, dict):
            self._usage = {**self._usage, **{key: value for key, value in usage.items() if value is not None}}
            self._use(self._usage)
        if reason := as_text(end.get("stop_reason")):
            self._seal_all()
            self._finish(reason)

    def _start_block(self, index: int, part: JsonObject) -> StreamBlock:
        if self.state.current_block is not None:
            # Its stop may have been left out.
            self._complete(self.state.current_block)
        self._seal(index)
        label = as_text(part.get("type"))
        block = self._start(
            KINDS.get(label, BlockKind.OTHER),
            index=index,
            id=as_text(part.get("id")),
            name=as_text(part.get("name")),
            label="" if label in _UNLABELLED else label,
        )
        self._unsealed[index] = block
        self._parts[block.ordinal] = part
        self._last_index = index
        self._next_index = max(self._next_index, index + 1)
        text, signature = _content(block.kind, part)
        if text or signature:
            self._grow(block, text, signature=signature)
        return block

    def _read_delta(self, index: int, delta: JsonObject) -> None:
        is_known = False
        for field, kind, label in _DELTA_FIELDS:
            if isinstance(text := delta.get(field), str):
                self._grow(self._block_for(index, kind, label), text)
                is_known = True
        if signature := as_text(delta.get("signature")):
            block = self._unsealed.get(index) or self._block_for(index, BlockKind.THINKING, "thinking")
            self._grow(block, signature=signature)
        elif not is_known:
            self._read_unknown_delta(index, delta)

    def _block_for(self, index: int, kind: BlockKind, label: str) -> StreamBlock:
        """The block that the delta adds to; a new one where none is open that could take it."""
        block = self._unsealed.get(index)
        if block is not None and block.kind in (kind, BlockKind.OTHER):
            return block
        return self._start_block(index, {"type": label})

    def _read_unknown_delta(self, index: int, delta: JsonObject) -> None:
        label = as_text(delta.get("type"))
        block = self._unsealed.get(index) or self._start_block(index, {"type": label.removesuffix("_delta")})
        if block.kind is BlockKind.OTHER:
            self._grow(block, next((as_text(value) for key, value in delta.items() if key != "type"), ""))
            return
        if citation := delta.get("citation"):
            part = self._parts[block.ordinal]
            citations = part["citations"] = as_list(part.get("citations"))
            citations.append(citation)
        self._grow(block)

    def _seal(self, index: int) -> None:
        if block := self._unsealed.pop(index, None):
            self._end(block)

    def _seal_all(self) -> None:
        for index in list(self._unsealed):
            self._seal(index)

    def _build(self) -> JsonObject:
        return build_message(self.state, self.head, self._parts)


def _content(kind: BlockKind, part: JsonObject) -> tuple[str, str]:
    """The text and the signature that a block begins with."""
    if kind is BlockKind.CONTENT:
        return as_text(part.get("text")), ""
    if kind is BlockKind.THINKING:
        return as_text(part.get("thinking")), as_text(part.get("signature")) or as_text(part.get("data"))
    if "input" in part:
        return as_arguments(part["input"]) if part["input"] else "", ""
    # Results of server tools and whatever is new: the payload, for a block that brings any at its start.
    payload = {key: value for key, value in part.items() if key != "type" and value is not None}
    return as_json_text(payload) if payload and kind is BlockKind.OTHER else "", ""
