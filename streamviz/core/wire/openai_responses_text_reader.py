"""Reading the texts that events add to the items of a response."""

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_list, as_text, encode
from streamviz.core.sounds import is_same_sound
from streamviz.core.wire.beside import is_word
from streamviz.core.wire.envelope import Envelope
from streamviz.core.wire.openai_chat_validity import are_likely
from streamviz.core.wire.openai_responses_calls import is_result, split_word
from streamviz.core.wire.openai_responses_incoming import Item
from streamviz.core.wire.openai_responses_item_finder import ItemFinder
from streamviz.core.wire.openai_responses_thinking import thought_of
from streamviz.core.wire.openai_responses_words import SOUNDS, SPEECH, TEXTS, kind_of, parts_in, texts_beside, texts_in

# Members that say which text is added, and where.
_OF_TEXTS = ("delta", "item_id", "output_index", "content_index", "summary_index", "sequence_number")
_WHOLES = ("text", "arguments", "refusal", "input", "transcript")


class TextReader(ItemFinder):
    """Adds the text of an event to its item."""

    def clear(self) -> None:
        super().clear()
        self._envelope = Envelope()
        # By a block's ordinal and the part of it that a text is added to: the event that adds it.
        self._added_by: dict[tuple[int, object], object] = {}
        # By the type of an event, which of its members are of which types: a client may skip all of one text.
        self._forms: dict[object, object] = {}

    # Parts of messages

    def _tell_parts(self, item: Item, details: JsonObject, is_whole: bool) -> None:
        for position, part in enumerate(self._few(parts_in(details.get("content")))):
            self._tell_part(item, position, part, is_whole)
        beside = texts_beside(details)
        if beside and not self.state.contradiction:
            kinds = (BlockKind.CONTENT, BlockKind.REFUSAL, BlockKind.THINKING)
            said = ["".join(part.text for part in item.parts.values() if part.kind is kind) for kind in kinds]
            if any(text not in said for text in beside):
                self._contradict("a message has a text that is in none of its parts")

    def _read_part(self, payload: JsonObject, part: JsonObject, is_whole: bool) -> None:
        if not is_whole and as_list(part.get("logprobs")):
            self._contradict("a part begins with the logprobs of a text that has not come")
        if kind_of(as_text(part.get("type"))) is BlockKind.THINKING:
            item = self._find_item(as_index(payload.get("output_index")), as_text(payload.get("item_id")))
            if item is None or item.type != "message":
                # The parts of a reasoning item make one block, which its texts fill.
                self._read_thought("reasoning_text", payload, part)
                return
        else:
            item = self._item(payload, "message")
        self._tell_part(item, as_index(payload.get("content_index")) or 0, part, is_whole)

    def _tell_part(self, item: Item, position: int, part: JsonObject, is_whole: bool) -> None:
        block = self._part(item, position, as_text(part.get("type")))
        if block.kind.is_opaque:
            self._tell_other(block, item, part, is_whole)
            return
        texts = texts_in(part)
        self._complete_with(block, texts[0] if texts else "", is_complete=False)
        if len(texts) > 1:
            self._contradict("a part of a message has two texts")
        if data := part.get("data"):
            if block.kind is BlockKind.CONTENT and isinstance(data, str):
                self._hear_whole(item, position, data)
            else:
                self._contradict("a sound is in a part of a message that cannot have one")

    def _part(self, item: Item, position: int, label: str) -> StreamBlock:
        kind = kind_of(label)
        block = item.parts.get((position, kind))
        if block is None and any((position, other) in item.parts for other in BlockKind):
            self._contradict("a part of a message changes its type")
        if block is None:
            other = label if kind.is_opaque else ""
            block = item.parts[position, kind] = self._start(kind, index=item.place, id=item.id, label=other)
            self._shown.place(block, item.place, position)
            item.unsealed.append(block)
            # A part can be added to a message that was whole already.
            self._unsealed[item.place] = item
        return block

    # Texts

    def _text_block(self, word: str, payload: JsonObject) -> tuple[Item, StreamBlock]:
        wanted, label, _ = TEXTS[word]
        item = self._item(payload, wanted)
        return item, item.block or self._part(item, as_index(payload.get("content_index")) or 0, label)

    def _read_delta(self, word: str, payload: JsonObject) -> None:
        text = as_json_text(payload.get("delta"))
        if word in SOUNDS:
            item, _ = self._text_block("audio_transcript", payload)
            self._hear(item, as_index(payload.get("content_index")) or 0, text)
            return
        if word not in TEXTS:
            self._read_other_delta(word, payload, text)
            return
        item, block = self._text_block(word, payload)
        self._note_id(item, as_text(payload.get("item_id")))
        if not text:
            return
        if self._shown.differ(block):
            self._contradict("a text continues differently from how it is shown")
        self._check_place(block)
        if block.kind is BlockKind.THINKING and block is item.block:
            part = thought_of(word, payload)
            self._check_event(block, part, payload)
            self._think_on(item, block, part, text)
            return
        self._check_event(block, None, payload)
        if block.is_complete:
            self._contradict("text continues after its end")
        else:
            self._grow(block, text)

    def _check_event(self, block: StreamBlock, part: object, payload: JsonObject) -> None:
        """Check that a text stays in one kind of event: some clients read only one, and skip one of other types."""
        logprobs = payload.get("logprobs")
        types = tuple(map(type, map(payload.get, _OF_TEXTS)))
        kind, form = payload.get("type"), (logprobs in (None, []) or are_likely(logprobs), types)
        if self._added_by.setdefault((block.ordinal, part), (kind, form)) != (kind, form):
            self._contradict("a text continues in another kind of event")
        if block.kind is not BlockKind.TOOL_CALL and self._forms.setdefault(kind, form) != form:
            self._contradict("a text is in events of other types than the texts before it")

    # Speech

    def _hear(self, item: Item, position: int, data: str) -> None:
        """Add a piece of a part's sound."""
        block = item.sounds.get(position)
        if block is None:
            block = item.sounds[position] = self._start(BlockKind.MEDIA, index=item.place, id=item.id, label=SPEECH)
            item.unsealed.append(block)
            self._unsealed[item.place] = item
        if block.is_complete:
            self._contradict("a sound continues after its end")
        elif not is_word(data):
            self._contradict("a sound is a text")
        elif data:
            line = encode({"data": data}).decode()
            self._grow(block, f"\n{line}" if block.length else line)

    def _hear_whole(self, item: Item, position: int, data: str) -> None:
        """Take in the whole of a part's sound, which may have come in pieces."""
        block = item.sounds.get(position)
        if block is None or not block.length:
            self._hear(item, position, data)
        elif self._may_reread(block.ordinal) and not is_same_sound(block.text, data):
            self._contradict("a sound is repeated differently")

    def _end_sound(self, payload: JsonObject) -> None:
        item = self._find_item(as_index(payload.get("output_index")), as_text(payload.get("item_id")))
        block = None if item is None else item.sounds.get(as_index(payload.get("content_index")) or 0)
        if block is not None:
            self._complete(block)

    def _note_id(self, item: Item, id: str) -> None:
        """Note the id by which a delta names its item. Some providers give an item another id in each event. If two ids
        alternate, a client that goes by them has the text of only one."""
        if id == item.latest_id:
            return
        if id == item.first_id:
            self._contradict("two ids take turns at one place")
        item.first_id, item.latest_id = item.first_id or id, id

    def _read_other_delta(self, word: str, payload: JsonObject, text: str) -> None:
        """Read text of a call that is not a function's, or of an unknown kind, which adds nothing to known kinds."""
        item, field = self._other_item(word, payload)
        block = item.block
        if block is None or not text:
            return
        if isinstance(block, ToolCallStreamBlock):
            if field:
                self._check_event(block, field, payload)
                self._read_argument(block, item, field, payload)
        elif block.kind is BlockKind.OTHER and not block.is_sealed:
            item.has_deltas = True
            self._grow(block, text)

    def _other_item(self, word: str, payload: JsonObject) -> tuple[Item, str]:
        """The item that an event with unknown words is about, and which field of a call they name, if any."""
        type, field = split_word(word)
        is_argument = bool(field) and not is_result(field)
        index, id = as_index(payload.get("output_index")), as_text(payload.get("item_id"))
        item = self._find_item(index, id)
        if item is None or (is_argument and not word.startswith(f"{item.type}_")):
            item = self._start_item(index, {"type": type if is_argument else word, "id": id})
        own = word[len(item.type) + 1 :] if word.startswith(f"{item.type}_") else ""
        return item, "" if is_result(own) else own

    def _read_whole_text(self, word: str, payload: JsonObject) -> None:
        """Read the end of a text, or of a part of it, where it comes once more as a whole."""
        if word in SOUNDS:
            self._end_sound(payload)
            return
        if word not in TEXTS:
            self._read_whole_argument(word, payload)
            return
        whole = self._whole_text(TEXTS[word][2], payload)
        item, block = self._text_block(word, payload)
        if block.kind is BlockKind.THINKING and block is item.block:
            self._think(item, thought_of(word, payload), whole)
            return
        if isinstance(block, ToolCallStreamBlock):
            self._tell_tool(block, item, payload)
        self._complete_with(block, whole)

    def _whole_text(self, field: str, payload: JsonObject) -> str:
        """The text in `field`; no other may have a different one, as some clients take the first they find."""
        whole = as_json_text(payload.get(field))
        if any(payload.get(key) and as_json_text(payload[key]) != whole for key in _WHOLES):
            self._contradict("the end of a text gives two texts")
        return whole

    def _read_whole_argument(self, word: str, payload: JsonObject) -> None:
        if not split_word(word)[1]:
            return
        item, field = self._other_item(word, payload)
        if not field or not isinstance(item.block, ToolCallStreamBlock):
            return
        if field in ("arguments", "input"):
            self._tell_tool(item.block, item, payload)
            self._complete_with(item.block, self._whole_text(field, payload))
        else:
            self._check_argument(item.block, item, field, payload)

    # Thinking

    def _read_thought(self, word: str, payload: JsonObject, part: JsonObject) -> None:
        """Read the beginning or the end of a part of the thinking."""
        self._think_part(self._item(payload, "reasoning"), thought_of(word, payload), part)
