"""OpenAI's chat completions, as OpenAI and the many providers that speak its format stream them.

Format: https://platform.openai.com/docs/api-reference/chat-streaming. What providers make of it beyond that is
taken from recorded streams: thinking in five different fields, calls without index or id, empty strings everywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_list, as_object, as_text, objects
from streamviz.core.wire.openai_chat_message import THINKING_FIELDS, build_message

MEDIA_FIELDS = ("audio", "images")
_PLAIN = frozenset(("role", "content"))


@dataclass(slots=True)
class _Choice:
    """What is open in one choice, and how its tool calls are found again."""

    number: int
    open: list[StreamBlock] = field(default_factory=list)
    unsealed: list[StreamBlock] = field(default_factory=list)
    text: StreamBlock | None = None
    calls: dict[int, ToolCallStreamBlock] = field(default_factory=dict)
    calls_by_id: dict[str, ToolCallStreamBlock] = field(default_factory=dict)
    has_delta: bool = False


class OpenAIChatAggregator(Aggregator[Chunk, JsonObject]):
    """Reads `chat.completion.chunk` events, and a whole `chat.completion` as one chunk."""

    def clear(self) -> None:
        super().clear()
        self._choices: dict[int, _Choice] = {}
        # Filled in by the first chunk that has an id; a composer that continues the stream shares it.
        self.head: JsonObject = {}
        self._has_id = False
        self._has_own_usage = False

    def _read(self, payload: JsonObject, name: str) -> None:
        if not self._has_id:
            self.head.update((key, payload[key]) for key in ("id", "created", "model") if payload.get(key))
            self._has_id = "id" in self.head
        for position, choice in enumerate(objects(payload.get("choices"))):
            self._read_choice(choice, position)
        if "usage" in payload or "x_groq" in payload:
            self._read_usage(payload)
        if error := payload.get("error"):
            self._fail(error)
        elif name == "error":
            self._fail(payload)

    def _read_choice(self, payload: JsonObject, position: int) -> None:
        index = as_index(payload.get("index"))
        number = position if index is None else index
        choice = self._choices.get(number)
        if choice is None:
            choice = self._choices[number] = _Choice(number)
        delta = payload.get("delta")
        if isinstance(delta, dict):
            choice.has_delta = True
            self._read_delta(choice, delta)
        elif not choice.has_delta:
            # A whole answer has a message; some providers send one beside the deltas too, which would count twice.
            self._read_delta(choice, as_object(payload.get("message")))
        reason = payload.get("finish_reason")
        if reason and isinstance(reason, str):
            self._finish_choice(choice, reason)

    def _read_delta(self, choice: _Choice, delta: JsonObject) -> None:
        content = delta.get("content")
        if not isinstance(content, str) or not _PLAIN.issuperset(delta):
            self._read_fields(choice, delta, content)
        elif content:
            # Nearly every delta of nearly every stream.
            self._text(choice, BlockKind.CONTENT, content)

    def _read_fields(self, choice: _Choice, delta: JsonObject, content: object) -> None:
        if (
            delta.get("reasoning_content")
            or delta.get("reasoning")
            or delta.get("thinking")
            or delta.get("reasoning_details")
        ):
            self._read_thinking(choice, delta)
        if content and isinstance(content, str):
            self._text(choice, BlockKind.CONTENT, content)
        elif isinstance(content, list):
            self._read_parts(choice, content, has_thinking=any(as_text(delta.get(key)) for key in THINKING_FIELDS))
        if refusal := as_text(delta.get("refusal")):
            self._text(choice, BlockKind.REFUSAL, refusal)
        for key in MEDIA_FIELDS:
            if media := delta.get(key):
                self._media(choice, key, media)
        if calls := delta.get("tool_calls"):
            for position, call in enumerate(objects(calls)):
                self._read_call(choice, call, position)
        if call := as_object(delta.get("function_call")):
            self._read_call(choice, {"function": call}, 0)

    def _read_thinking(self, choice: _Choice, delta: JsonObject) -> None:
        details = objects(delta.get("reasoning_details"))
        text = next((text for key in THINKING_FIELDS if (text := as_text(delta.get(key)))), "")
        if not text:
            text = "".join(as_text(detail.get("text")) or as_text(detail.get("summary")) for detail in details)
        # Encrypted thinking has no text, but the provider wants it back: it is kept as the signature is.
        signature = "".join(as_text(detail.get("signature")) or as_text(detail.get("data")) for detail in details)
        if text or signature:
            self._text(choice, BlockKind.THINKING, text, signature)

    def _read_parts(self, choice: _Choice, parts: list[object], has_thinking: bool) -> None:
        for part in parts:
            if isinstance(part, str):
                self._text(choice, BlockKind.CONTENT, part)
                continue
            details = as_object(part)
            kind = as_text(details.get("type"))
            if kind == "thinking" and has_thinking:
                continue
            text = _part_text(details, kind)
            if kind in ("thinking", "reasoning"):
                self._text(choice, BlockKind.THINKING, text, as_text(details.get("signature")))
            elif text:
                self._text(choice, BlockKind.REFUSAL if kind == "refusal" else BlockKind.CONTENT, text)
            elif kind not in ("text", "output_text", ""):
                self._media(choice, kind, details)

    def _text(self, choice: _Choice, kind: BlockKind, text: str, signature: str = "") -> None:
        if not text and not signature:
            return
        block = choice.text
        if block is None or block.kind is not kind or block.is_complete:
            self._close_open(choice)
            block = choice.text = self._start(kind, choice=choice.number)
            choice.open = [block]
            choice.unsealed.append(block)
        self._grow(block, text, signature=signature)

    def _media(self, choice: _Choice, label: str, payload: object) -> None:
        self._close_open(choice)
        block = self._start(BlockKind.OTHER, choice=choice.number, label=label)
        self._grow(block, as_json_text(payload))
        choice.open = [block]
        choice.unsealed.append(block)

    def _read_call(self, choice: _Choice, call: JsonObject, position: int) -> None:
        function = as_object(call.get("function")) or as_object(call.get("custom"))
        id, name = as_text(call.get("id")), as_text(function.get("name"))
        arguments = as_json_text(function["input"] if "input" in function else function.get("arguments"))
        index = as_index(call.get("index"))
        block = self._find_call(choice, index, id, name, position)
        if block is None:
            block = self._start_call(choice, index, id, name, position)
            name = ""
        elif block.is_complete:
            choice.open.append(block)
        if name and block.name and name != block.name:
            # A name in pieces, or one that is sent again longer each time.
            name = name if name.startswith(block.name) else block.name + name
        self._grow(block, arguments, id=id, name=name)
        if id:
            choice.calls_by_id[id] = block

    def _find_call(
        self, choice: _Choice, index: int | None, id: str, name: str, position: int
    ) -> ToolCallStreamBlock | None:
        """The call that a piece belongs to: by index, without one by id, without that by position."""
        if index is None and id:
            block = choice.calls_by_id.get(id)
        else:
            block = choice.calls.get(position if index is None else index)
        if block is None or block.is_sealed:
            return None
        is_other_call = bool(id and block.id and id != block.id)
        # Whole calls that come one after another with neither index nor id.
        is_next_call = bool(name and not id and block.length and block.name and (index is None or name != block.name))
        return None if is_other_call or is_next_call else block

    def _start_call(self, choice: _Choice, index: int | None, id: str, name: str, position: int) -> ToolCallStreamBlock:
        self._close_open(choice)
        block = self._start(BlockKind.TOOL_CALL, choice=choice.number, index=index, id=id, name=name)
        assert isinstance(block, ToolCallStreamBlock)
        choice.calls[position if index is None else index] = block
        choice.open = [block]
        choice.unsealed.append(block)
        choice.text = None
        return block

    def _close_open(self, choice: _Choice) -> None:
        for block in choice.open:
            self._complete(block)

    def _finish_choice(self, choice: _Choice, reason: str) -> None:
        for block in choice.unsealed:
            self._end(block)
        choice.open, choice.unsealed, choice.text = [], [], None
        self._finish(reason, choice.number)

    def _read_usage(self, payload: JsonObject) -> None:
        if isinstance(usage := payload.get("usage"), dict):
            self._has_own_usage = True
            self._use(usage)
        elif not self._has_own_usage:
            self._use(as_object(payload.get("x_groq")).get("usage"))

    def _build(self) -> JsonObject:
        return build_message(self.state, self.head)


def _part_text(part: JsonObject, kind: str) -> str:
    """The text of a typed content part; a thinking part may hold a list of text parts."""
    for key in (kind, "text", "content"):
        value = part.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return "".join(_texts(value))
    return ""


def _texts(parts: list[object]) -> Iterator[str]:
    for part in as_list(parts):
        yield part if isinstance(part, str) else as_text(as_object(part).get("text"))
