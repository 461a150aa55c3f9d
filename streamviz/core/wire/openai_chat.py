"""OpenAI's chat completions, as OpenAI and the many providers that speak its format stream them.

Format: https://platform.openai.com/docs/api-reference/chat-streaming. Where providers depart from it is known from
recorded streams: thinking in many different fields, calls without index or id, empty strings everywhere.
"""

from collections.abc import Sequence

from streamviz.core.aggregator import Aggregator, Beside, Chunk
from streamviz.core.blocks import Told, ToolCallStreamBlock
from streamviz.core.calls import may_be_call
from streamviz.core.events import BlockDelta, BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_list, as_object, as_text, objects
from streamviz.core.repeats import TextPlace
from streamviz.core.wire import openai_chat_beside as beside
from streamviz.core.wire.envelope import Envelope
from streamviz.core.wire.openai_chat_calls import CUSTOM, Piece, legacy_piece, piece_of
from streamviz.core.wire.openai_chat_choice import Choice
from streamviz.core.wire.openai_chat_endings import error_in, failed_ending, usage_elsewhere
from streamviz.core.wire.openai_chat_message import MEDIA, build_message, says, says_else
from streamviz.core.wire.openai_chat_thinking import SPECIFIC, THINKING_FIELDS, is_same, part_text, thinking_in
from streamviz.core.wire.openai_chat_validity import Types

_THINKING = frozenset((*THINKING_FIELDS, SPECIFIC))
# The longest name (characters) that pieces are still added to: each piece makes a new string.
_LONGEST_NAME = 1_000
_PLAIN = frozenset(("role", "content"))


class OpenAIChatAggregator(Aggregator[Chunk, JsonObject]):
    """Reads `chat.completion.chunk` events, and a whole `chat.completion` as one chunk.

    If the vendor's SDKs, which add up by index, would put together a different message from the one read here, upstream
    contradicts itself. If they raise an error it does not: their clients have nothing then.
    """

    def clear(self) -> None:
        super().clear()
        self._envelope = Envelope()
        self._choices: dict[int, Choice] = {}
        # The first chunk that has an id fills in `head`.
        self._has_id = False
        self._has_deltas = False
        self._has_own_usage = False
        self._object: object = None
        # Calls whose arguments came as JSON rather than as text; and where each call's pieces have their content.
        self._as_objects: set[int] = set()
        self._said_where: dict[int, tuple[object, str]] = {}
        self._types = Types()

    def _look_beside(self, payload: JsonObject, name: str) -> Beside:
        if self._envelope.only_adds_text(payload):
            return Beside(self._envelope.is_odd)
        has_needless = beside.chat_has_needless(payload, has_deltas=self._has_deltas)
        return super()._look_beside(payload, name)._replace(has_needless=has_needless)

    @staticmethod
    def _text_place(payload: JsonObject) -> TextPlace | None:
        match payload.get("choices"):
            case [dict() as choice] if beside.is_plain(choice):
                return beside.text_place(choice.get("delta"))
        return None

    def _told_beside(self, payload: JsonObject, name: str) -> Sequence[Told]:
        self._envelope.read_chat(payload)
        return self._envelope.take()

    def _told_in(self, padding: str) -> Sequence[Told]:
        return self._envelope.take_one(padding)

    def _says_beside(self, payload: JsonObject, name: str) -> bool:
        return self._envelope.is_odd or beside.chat_says_beside(payload)

    def _known_of(self, payload: JsonObject, name: str) -> object:
        return beside.chat_known_of(payload)

    def _needed_of(self, payload: JsonObject) -> JsonObject:
        return beside.chat_needed_of(payload, has_deltas=self._has_deltas)

    def _read(self, payload: JsonObject, name: str) -> None:
        if not self._has_id:
            self._tell_head({key: payload[key] for key in ("id", "created", "model") if payload.get(key)})
            self._has_id = "id" in self.head
        choices = self._few(objects(payload.get("choices")))
        for position, choice in enumerate(choices):
            self._read_choice(choice, position)
        if self.state.events:
            self._check(payload, choices)
        self._read_usage(payload, choices)
        if error := error_in(payload, choices, name) or (self.state.failure is None and failed_ending(choices)):
            self._fail(error)

    def _check(self, payload: JsonObject, choices: list[JsonObject]) -> None:
        """Find what SDKs skip: chunks of another kind or of other types, and a choice the second time in one chunk."""
        if not self.body and self._types.differ(payload, self.state.events, self.state.blocks):
            self._contradict("a member of a chunk is of another type")
        word = payload.get("object")
        if word != self._object and any(isinstance(event, BlockDelta) for event in self.state.events):
            if self._object is not None:
                self._contradict("some of its chunks are of another kind")
            self._object = self._object or word
        if len(choices) > 1:
            numbers = [choice.get("index", position) for position, choice in enumerate(choices)]
            if len(set(map(str, numbers))) < len(numbers):
                self._contradict("a choice comes twice in a chunk")

    def _read_choice(self, payload: JsonObject, position: int) -> None:
        index = as_index(payload.get("index"))
        if index is None and payload.get("index") is not None:
            self._contradict("the index of a choice is not a valid one")
        number = position if index is None else index
        choice = self._choices.get(number) or self._begin_choice(number)
        before = len(self.state.events)
        self._read_words(choice, payload)
        if len(self.state.events) > before:
            self._check_choice(choice, payload)
        if reason := as_text(payload.get("finish_reason")):
            self._finish_choice(choice, reason)

    def _check_choice(self, choice: Choice, payload: JsonObject) -> None:
        """Check that a choice goes on where it was, and not after its end."""
        if choice.is_finished and not self.has_end_mark:
            self._contradict("a choice continues after its end")
        if choice.is_elsewhere(payload.get("index")):
            self._contradict("the index of a choice is given in two ways")

    def _begin_choice(self, number: int) -> Choice:
        self._require_room(len(self._choices))
        self._require_asked(number)
        if number != len(self._choices):
            self._contradict("choices come out of order")
        choice = self._choices[number] = Choice(number)
        return choice

    def _read_words(self, choice: Choice, payload: JsonObject) -> None:
        delta, message = payload.get("delta"), as_object(payload.get("message"))
        if isinstance(delta, dict) and (not self.body or says(delta)):
            if not choice.has_delta and says_else(message, delta):
                self._contradict("a message differs from the delta beside it")
            choice.has_delta = self._has_deltas = True
            self._read_delta(choice, delta)
        elif not choice.has_delta:
            # A whole answer has a message, which some providers put beside an empty delta.
            self._read_delta(choice, message)

    def _read_delta(self, choice: Choice, delta: JsonObject) -> None:
        content = delta.get("content")
        if not isinstance(content, str) or not _PLAIN.issuperset(delta):
            self._read_fields(choice, delta, content)
        elif content:
            # Nearly every delta of nearly every stream.
            self._content(choice, content)

    def _read_fields(self, choice: Choice, delta: JsonObject, content: object) -> None:
        thinking = "" if _THINKING.isdisjoint(delta) else self._read_thinking(choice, delta)
        if content and isinstance(content, str):
            self._content(choice, content)
        elif isinstance(content, list):
            self._read_parts(choice, content, thinking)
        elif content:
            self._contradict("content is neither text nor a list")
        if refusal := delta.get("refusal"):
            self._text(choice, BlockKind.REFUSAL, as_text(refusal))
            if not isinstance(refusal, str):
                self._contradict("a refusal is not text")
        if audio := delta.get("audio"):
            self._read_audio(choice, audio, content)
        if images := delta.get("images"):
            self._media(choice, "images", images)
        self._read_call_fields(choice, delta)

    def _read_call_fields(self, choice: Choice, delta: JsonObject) -> None:
        if calls := delta.get("tool_calls"):
            self._read_calls(choice, self._few(objects(calls)))
            if len(objects(calls)) < (len(calls) if isinstance(calls, list) else 1):
                self._contradict("a call is not an object")
        if call := delta.get("function_call"):
            self._read_legacy_call(choice, legacy_piece(as_object(call)))
            if not isinstance(call, dict):
                self._contradict("a call is not an object")

    def _content(self, choice: Choice, text: str) -> None:
        choice.has_text = True
        if choice.is_spoken:
            self._contradict("content is spoken and then written")
        self._text(choice, BlockKind.CONTENT, text)

    def _read_thinking(self, choice: Choice, delta: JsonObject) -> str:
        """Take in a delta's thinking, and return its text."""
        for each in (delta, as_object(delta.get(SPECIFIC))):
            for key in THINKING_FIELDS:
                self._few(as_list(each.get(key)))
        text, signature, fields, is_odd = thinking_in(delta)
        if is_odd:
            self._contradict("two fields have different thinking")
        if text and choice.thinks_elsewhere(fields):
            self._contradict("thinking continues in another field")
        self._text(choice, BlockKind.THINKING, text, signature)
        return text

    def _read_audio(self, choice: Choice, audio: object, content: object) -> None:
        """Read audio; its transcript is content."""
        said = as_text(as_object(audio).get("transcript"))
        if said and said != content:
            choice.is_spoken = True
            if choice.has_text:
                self._contradict("content is written and then spoken")
            self._text(choice, BlockKind.CONTENT, said)
        if not said or as_object(audio).get("data"):
            self._sound(choice, as_json_text(audio))

    def _sound(self, choice: Choice, line: str) -> None:
        """Add to the sound, which is a block beside that of its transcript."""
        block = choice.sound
        if block is None or block.is_sealed:
            block = choice.sound = self._start(BlockKind.MEDIA, choice=choice.number, label="audio")
            choice.unsealed.append(block)
        self._grow(block, f"\n{line}" if block.length else line)

    def _read_parts(self, choice: Choice, parts: list[object], thinking: str) -> None:
        """Read a list of content. Thinking in it that a field of the delta has, too (`thinking`), counts once."""
        for part in self._few(parts):
            details: JsonObject = {"type": "text", "text": part} if isinstance(part, str) else as_object(part)
            kind = as_text(details.get("type"))
            text = part_text(details, kind)
            if kind == "thinking" and thinking:
                if not is_same(text, thinking):
                    self._contradict("a part and a field have different thinking")
            elif kind in ("thinking", "reasoning"):
                self._text(choice, BlockKind.THINKING, text, as_text(details.get("signature")))
            elif text:
                if choice.has_text:
                    self._contradict("content is text and then a list")
                self._text(choice, BlockKind.REFUSAL if kind == "refusal" else BlockKind.CONTENT, text)
            elif kind not in ("text", "output_text", ""):
                if may_be_call(details):
                    self._contradict("a part of the content may be a call")
                self._media(choice, kind, details)

    def _text(self, choice: Choice, kind: BlockKind, text: str, signature: str = "") -> None:
        if not text and not signature:
            return
        block = choice.text
        if block is None or block.kind is not kind or block.is_complete:
            self._close_open(choice)
            block = choice.text = self._start(kind, choice=choice.number)
            choice.open = [block]
            choice.unsealed.append(block)
        self._grow(block, text, signature=signature)

    def _media(self, choice: Choice, label: str, payload: object) -> None:
        self._close_open(choice)
        kind = BlockKind.MEDIA if label in MEDIA else BlockKind.OTHER
        block = self._start(kind, choice=choice.number, label=label)
        self._grow(block, as_json_text(payload))
        choice.open = [block]
        choice.unsealed.append(block)

    def _read_calls(self, choice: Choice, calls: list[JsonObject]) -> None:
        put: list[tuple[int | None, int]] = []
        for position, call in enumerate(calls):
            piece = piece_of(call)
            block = choice.find_call(piece.place, piece.id, piece.name, position)
            is_new = block is None
            if block is None:
                block = self._start_call(choice, piece)
                if choice.begin_call(piece, block, position):
                    # Clients that add up by index add it to that call, even if the vendor's SDK raises an error.
                    self._contradict("a call has the index of another")
            if not self.body and choice.is_joined(piece, block, is_new=is_new):
                self._contradict("a call without an index may be taken for another")
            if piece.id:
                choice.calls_by_id[piece.id] = block
            self._grow_call(choice, block, piece, "" if is_new else piece.name)
            put.append((piece.place, block.ordinal))
        if not choice.places.has_raised and choice.places.differ(put):
            self._contradict("a piece of a call has the index of another")

    def _read_legacy_call(self, choice: Choice, piece: Piece) -> None:
        name = piece.name
        if choice.legacy is None or choice.legacy.is_sealed:
            choice.legacy, name = self._start_call(choice, piece), ""
        self._grow_call(choice, choice.legacy, piece, name)

    def _grow_call(self, choice: Choice, block: ToolCallStreamBlock, piece: Piece, name: str) -> None:
        """Add a piece to its call; `name` is the piece's name, or empty if the call began with it."""
        if block.is_complete:
            choice.open.append(block)
        if self._is_odd(block, piece, name):
            self._contradict("a call is named twice, or continues as another kind of call")
        if name and block.name:
            # A name in pieces, or one that is repeated and longer each time. SDKs disagree about both.
            name = name if name.startswith(block.name) else block.name + name
            name = name if len(block.name) < _LONGEST_NAME else ""
        if piece.is_object:
            self._as_objects.add(block.ordinal)
        self._grow(block, piece.arguments, id=piece.id, name=name)

    def _is_odd(self, block: ToolCallStreamBlock, piece: Piece, name: str) -> bool:
        """Whether clients may read the call with this piece differently from how it is read here."""
        is_mixed = block.ordinal in self._as_objects or (piece.is_object and block.length > 0)
        says = bool(piece.name or piece.arguments)
        is_other = says and piece.is_custom is not (block.label == CUSTOM)
        if says and self._said_where.setdefault(block.ordinal, piece.where) != piece.where:
            return True
        return piece.is_odd or is_other or bool(name and block.name) or bool(piece.arguments and is_mixed)

    def _start_call(self, choice: Choice, piece: Piece) -> ToolCallStreamBlock:
        self._close_open(choice)
        block = self._start(
            BlockKind.TOOL_CALL,
            choice=choice.number,
            index=piece.place,
            id=piece.id,
            name=piece.name,
            label=piece.label,
        )
        assert isinstance(block, ToolCallStreamBlock)
        choice.open = [block]
        choice.unsealed.append(block)
        choice.text = None
        return block

    def _close_open(self, choice: Choice) -> None:
        for block in choice.open:
            self._complete(block)

    def _finish_choice(self, choice: Choice, reason: str) -> None:
        for block in choice.unsealed:
            self._end(block)
        choice.open, choice.unsealed, choice.text = [], [], None
        choice.is_finished = True
        self._finish(reason, choice.number)

    def _read_usage(self, payload: JsonObject, choices: list[JsonObject]) -> None:
        if isinstance(usage := payload.get("usage"), dict):
            self._has_own_usage = True
            self._use(usage, payload.get("service_tier"))
        elif not self._has_own_usage:
            self._use(usage_elsewhere(payload, choices), payload.get("service_tier"))

    def _build(self) -> JsonObject:
        return build_message(self.state, self.head)
