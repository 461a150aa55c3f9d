"""Anthropic's messages, as Anthropic and the gateways that speak its format stream them.

Format: https://docs.anthropic.com/en/api/messages-streaming. Blocks are numbered and have an explicit end; gateways
leave out starts and stops, and a message may come with its content, or its stop reason, in its very first event.
"""

from collections.abc import Sequence
from itertools import islice

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, Told
from streamviz.core.calls import FREE_TEXT, as_arguments, may_be_call
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_list, as_object, as_text
from streamviz.core.repeats import TextPlace
from streamviz.core.wire.anthropic_messages_beside import messages_known_of, messages_say_beside
from streamviz.core.wire.anthropic_messages_calls import says_twice, tool_name
from streamviz.core.wire.anthropic_messages_events import EventNames, content_of, is_repeated, kind_of
from streamviz.core.wire.anthropic_messages_message import build_message, parts_of
from streamviz.core.wire.envelope import Envelope
from streamviz.core.wire.joined_texts import ShownTexts

# For each field of a delta: the kind of block it adds to, the type of block that begins if its start was never sent,
# and the delta's own type.
_DELTA_FIELDS = (
    ("text", BlockKind.CONTENT, "text", "text_delta"),
    ("thinking", BlockKind.THINKING, "thinking", "thinking_delta"),
    ("partial_json", BlockKind.TOOL_CALL, "tool_use", "input_json_delta"),
)
_PLAIN_DELTAS = {word: (field, kind, label) for field, kind, label, word in _DELTA_FIELDS}
_DELTA = frozenset({"type", "index", "delta"})
_KNOWN_DELTAS = frozenset({"text_delta", "thinking_delta", "input_json_delta", "signature_delta"})
# Limits the members of a message's usage, as each of its events may add some.
_MOST_COUNTS = 100
_UNLABELLED = ("text", "thinking", "tool_use")


class AnthropicMessagesAggregator(Aggregator[Chunk, JsonObject]):
    """Reads the events of a message stream, and a whole `message` as one chunk.

    `head` is the message so far, without its content and usage; it stays the same object for the whole stream. The
    vendor's SDKs append a block when its start arrives, and find the block for a delta by index: if that is not the
    block that the delta is read for here, upstream contradicts itself.
    """

    def clear(self) -> None:
        super().clear()
        self._envelope = Envelope()
        self._usage: JsonObject = {}
        self._unsealed: dict[int, StreamBlock] = {}
        self._parts: dict[int, JsonObject] = {}
        self._next_index = 0
        self._last_index = 0
        self._index_type: type | None = None
        self._has_message = False
        self._names = EventNames()
        # The SDKs' list of blocks, with None for those that are not blocks here.
        self._places: list[StreamBlock | None] = []
        self._placed: set[int] = set()
        self._with_input: set[int] = set()
        self._shown = ShownTexts()

    @staticmethod
    def _text_place(payload: JsonObject) -> TextPlace | None:
        delta = as_object(payload.get("delta"))
        plain = _PLAIN_DELTAS.get(as_text(delta.get("type")))
        if plain is None or len(delta) != 2 or payload.keys() != _DELTA or as_index(payload["index"]) is None:
            return None
        return TextPlace(delta, plain[0]) if isinstance(delta.get(plain[0]), str) else None

    def _told_beside(self, payload: JsonObject, name: str) -> Sequence[Told]:
        self._envelope.read_message(payload, as_text(payload.get("type")) or name)
        return self._envelope.take()

    def _says_beside(self, payload: JsonObject, name: str) -> bool:
        return self._envelope.is_odd or messages_say_beside(payload, name)

    def _known_of(self, payload: JsonObject, name: str) -> object:
        return messages_known_of(payload, name)

    def _read(self, payload: JsonObject, name: str) -> None:
        word = as_text(payload.get("type")) or name
        self._read_label(word, payload, name)
        match word:
            case "content_block_delta":
                self._read_delta(payload, as_object(payload.get("delta")))
            case "content_block_start":
                self._read_start(payload, as_object(payload.get("content_block")))
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

    def _read_label(self, word: str, payload: JsonObject, name: str) -> None:
        """Check an event's name, and read any `content` it has: clients read a whole answer whatever its type."""
        if trouble := self._names.trouble(word, payload, name):
            self._contradict(trouble)
        if word != "message" and parts_of(payload.get("content")):
            self._read_message(payload)
            self._seal_all()

    def _index(self, payload: JsonObject, otherwise: int) -> int:
        index = as_index(payload.get("index"))
        if index is None and payload.get("index") is not None:
            self._contradict("an index is not a valid one")
        return otherwise if index is None else index

    def _read_message(self, message: JsonObject) -> None:
        content = self._few(parts_of(message.get("content")))
        if content and self._has_message:
            self._contradict("the message begins again")
        self._has_message = True
        self._tell_head({key: value for key, value in message.items() if key not in ("content", "usage")})
        for part in content:
            self._place(self._start_block(self._next_index, part))
        self._read_end(message, message.get("usage"))

    def _read_end(self, end: JsonObject, usage: object) -> None:
        """Read the fields that come at a message's end; usage there corrects what the message began with."""
        for key in ("stop_reason", "stop_sequence", "stop_details", "container"):
            if (value := end.get(key)) is not None:
                self._tell_head({key: value})
        if isinstance(usage, dict):
            told = {**self._usage, **{key: value for key, value in usage.items() if value is not None}}
            self._usage = dict(islice(told.items(), _MOST_COUNTS))
            self._use(self._usage)
        if reason := as_text(end.get("stop_reason")):
            self._seal_all()
            self._finish(reason)

    def _read_start(self, payload: JsonObject, part: JsonObject) -> None:
        index = as_index(payload.get("index"))
        open_block = self._unsealed.get(self._last_index if index is None else index)
        if open_block is not None and is_repeated(open_block, part):
            # Some gateways repeat the start before each piece of a call, which leaves SDKs with an extra, empty block.
            self._places.append(None)
            if part.get("input"):
                self._contradict("a call continues in a block of its own")
                self._grow(open_block, as_arguments(part["input"]))
            return
        self._place(self._start_block(self._index(payload, self._next_index), part))

    def _place(self, block: StreamBlock) -> None:
        self._places.append(block)
        self._placed.add(block.ordinal)

    def _start_block(self, index: int, part: JsonObject) -> StreamBlock:
        if self.state.current_block is not None:
            # Its stop may have been left out.
            self._complete(self.state.current_block)
        self._seal(index)
        label = as_text(part.get("type"))
        kind = kind_of(part)
        if kind is BlockKind.TOOL_CALL and says_twice(part):
            self._contradict("a call gives its arguments twice")
        block = self._start(
            kind,
            index=index,
            id=as_text(part.get("id")),
            name=tool_name(part) if kind is BlockKind.TOOL_CALL else as_text(part.get("name")),
            label="" if label in _UNLABELLED or (kind is BlockKind.TOOL_CALL and label in FREE_TEXT) else label,
        )
        self._unsealed[index] = block
        self._parts[block.ordinal] = part
        self._last_index = index
        self._next_index = max(self._next_index, index + 1)
        text, signature = content_of(block.kind, part)
        if text or signature:
            self._grow(block, text, signature=signature)
        if text and block.kind is BlockKind.TOOL_CALL:
            self._with_input.add(block.ordinal)
        elif text:
            self._shown.tell_whole(block)
        return block

    def _read_delta(self, payload: JsonObject, delta: JsonObject) -> None:
        index = self._index(payload, self._last_index)
        place = as_index(payload.get("index")) or 0
        self._index_type = self._index_type or type(payload.get("index"))
        if type(payload.get("index")) is not self._index_type:
            self._contradict("an index is given in two ways")
        word = as_text(delta.get("type"))
        target = self._unsealed.get(index)
        if word not in _KNOWN_DELTAS and target is not None and target.kind.is_opaque:
            self._read_unknown_delta(index, delta)
            return
        plain = _PLAIN_DELTAS.get(word)
        if plain is not None and len(delta) == 2 and isinstance(text := delta.get(plain[0]), str):
            # Nearly every event of nearly every stream.
            self._grow_at(place, self._block_for(index, plain[1], plain[2]), text)
        else:
            self._read_odd_delta(index, place, word, delta)

    def _read_odd_delta(self, index: int, place: int, word: str, delta: JsonObject) -> None:
        is_known = False
        for field, kind, label, own_word in _DELTA_FIELDS:
            text = delta.get(field)
            if isinstance(text, str) is not (word == own_word):
                self._contradict("a delta is of one type and has the text of another")
            if isinstance(text, str):
                self._grow_at(place, self._block_for(index, kind, label), text)
                is_known = True
        if signature := as_text(delta.get("signature")):
            block = self._unsealed.get(index) or self._block_for(index, BlockKind.THINKING, "thinking")
            self._grow(block, signature=signature)
        elif not is_known:
            self._read_unknown_delta(index, delta)

    def _grow_at(self, place: int, block: StreamBlock, text: str) -> None:
        """Grow a block by a text that the SDKs add to the block at `place`, which should be the same one."""
        there = self._places[place] if place < len(self._places) else block
        if there is not block and (there is None or not there.kind.is_opaque or block.ordinal in self._placed):
            self._contradict("a delta is for a block other than its index says")
        if text and block.ordinal in self._with_input:
            self._contradict("a call begins with its input and then has another")
        if text and self._shown.differ(block):
            self._contradict("a text continues differently from how it is shown")
        self._grow(block, text)

    def _block_for(self, index: int, kind: BlockKind, label: str) -> StreamBlock:
        """The block that the delta adds to; a new one if no open block can take it."""
        block = self._unsealed.get(index)
        if block is not None and block.kind is kind:
            return block
        return self._start_block(index, {"type": label})

    def _read_unknown_delta(self, index: int, delta: JsonObject) -> None:
        label = as_text(delta.get("type"))
        block = self._unsealed.get(index) or self._start_block(index, {"type": label.removesuffix("_delta")})
        if may_be_call(delta):
            self._read_new_call(index, block, delta)
            return
        if block.kind.is_opaque:
            self._grow(block, next((as_text(value) for key, value in delta.items() if key != "type"), ""))
            return
        if citation := delta.get("citation"):
            part = self._parts[block.ordinal]
            citations = part["citations"] = as_list(part.get("citations"))
            citations.append(citation)
        self._grow(block)

    def _read_new_call(self, index: int, block: StreamBlock, delta: JsonObject) -> None:
        """Read a delta of unknown type that may be a call, or part of one."""
        if block.kind is BlockKind.TOOL_CALL:
            self._contradict("a call continues in a way that clients may not know")
        self._start_block(index, delta)

    def _seal(self, index: int) -> None:
        if block := self._unsealed.pop(index, None):
            self._end(block)

    def _seal_all(self) -> None:
        for index in list(self._unsealed):
            self._seal(index)

    def _build(self) -> JsonObject:
        return build_message(self.state, self.head, self._parts)
