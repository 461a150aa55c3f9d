"""Gemini's generateContent, streamed or whole.

Format: https://ai.google.dev/api/generate-content. A chunk is a piece of the answer in the shape of a whole one. A
block is a run of parts of one kind, without an explicit end: text, or sound of one type, which has a line for each
part. A call comes whole, or in pieces that each say where in the arguments they belong: these are not JSON text, so
they are kept apart from it and put together by `build()`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, Told
from streamviz.core.calls import as_arguments, name_of
from streamviz.core.events import BlockKind, StreamEvent
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_object, as_text, objects
from streamviz.core.media import GEMINI_PARTS, type_of_part
from streamviz.core.medium import is_sound
from streamviz.core.wire.envelope import Envelope
from streamviz.core.wire.gemini_beside import (
    DESCRIPTIONS,
    has_other_lines,
    is_out_of_place,
    known_of,
    own_arguments,
    says_beside,
)
from streamviz.core.wire.gemini_errors import bare_error
from streamviz.core.wire.gemini_message import build_message

_CODE = ("executableCode", "executable_code")


@dataclass(slots=True)
class _Candidate:
    """What is open in one candidate."""

    number: int
    is_over: bool = False
    text: StreamBlock | None = None
    call: StreamBlock | None = None
    # The open sound, and its media type.
    sound: tuple[StreamBlock, str] | None = None
    unsealed: list[StreamBlock] = field(default_factory=list)


class GeminiAggregator(Aggregator[Chunk, JsonObject]):
    """Reads the chunks of a streamed answer, and a whole `GenerateContentResponse` as one chunk.

    `head` is the answer so far, without its candidates; it stays the same object for the whole stream.
    """

    def clear(self) -> None:
        super().clear()
        self._envelope = Envelope()
        self._candidates: dict[int, _Candidate] = {}
        self._open_candidates = 0
        self._parts: dict[int, JsonObject] = {}
        self._pieces: dict[int, list[JsonObject]] = {}

    def as_read(self, chunk: Chunk) -> Chunk:
        """The chunk; if it is only an error, without `data:`, the chunk with that error as its data."""
        error = bare_error(chunk.raw) if chunk.data is None else None
        return chunk if error is None else msgspec.structs.replace(chunk, data=error)

    def aggregate(self, chunk: Chunk) -> list[StreamEvent]:
        return super().aggregate(self.as_read(chunk))

    def _read(self, payload: JsonObject, name: str) -> None:
        if "candidates" not in payload and isinstance(wrapped := payload.get("response"), dict):
            payload = wrapped
        self._tell_head({key: value for key, value in payload.items() if key not in ("candidates", "error")})
        for position, candidate in enumerate(self._few(objects(payload.get("candidates")))):
            if is_out_of_place(candidate, position):
                self._contradict("a candidate is not in its place")
            self._read_candidate(candidate, position)
        # The format has no end mark of its own.
        self.has_end_mark = bool(self._candidates) and not self._open_candidates
        self._use(payload.get("usageMetadata"))
        if error := payload.get("error"):
            details = as_object(error)
            self._fail({**details, "type": details.get("status")} if details else error)
        if blocked := as_text(as_object(payload.get("promptFeedback")).get("blockReason")):
            # There is no candidate then, so no finish_reason either.
            self._fail({"message": f"the prompt was blocked: {blocked}", "type": "prompt_blocked", "code": blocked})

    def _read_candidate(self, payload: JsonObject, position: int) -> None:
        index = as_index(payload.get("index"))
        number = position if index is None else index
        candidate = self._candidates.get(number) or self._begin_candidate(number)
        for part in self._few(objects(as_object(payload.get("content")).get("parts"))):
            self._read_part(candidate, part)
        if reason := as_text(payload.get("finishReason")):
            self._open_candidates -= not candidate.is_over
            candidate.is_over = True
            for block in candidate.unsealed:
                self._end(block)
            candidate.text = candidate.call = candidate.sound = None
            candidate.unsealed = []
            self._finish(reason, number)

    def _begin_candidate(self, number: int) -> _Candidate:
        self._require_room(len(self._candidates))
        self._require_asked(number)
        self._open_candidates += 1
        candidate = self._candidates[number] = _Candidate(number)
        return candidate

    def _is_ambiguous(self, chunk: Chunk) -> bool:
        if chunk.data is not None and chunk.data == bare_error(chunk.raw):
            return False
        return has_other_lines(chunk.raw) or super()._is_ambiguous(chunk)

    def _told_beside(self, payload: JsonObject, name: str) -> Sequence[Told]:
        self._envelope.read_gemini(payload)
        return self._envelope.take()

    def _says_beside(self, payload: JsonObject, name: str) -> bool:
        return self._envelope.is_odd or says_beside(payload)

    def _known_of(self, payload: JsonObject, name: str) -> object:
        return known_of(payload)

    def _read_part(self, candidate: _Candidate, part: JsonObject) -> None:
        is_text, call = isinstance(part.get("text"), str), part.get("functionCall")
        if is_text:
            self._read_text(candidate, part)
        if isinstance(call, dict):
            self._read_call(candidate, call, part)
        labels = [key for key in part if key not in DESCRIPTIONS]
        own_calls = [label for label in labels if is_own_call(label, part[label])]
        for label in own_calls:
            self._read_own_call(candidate, label, part)
        if labels and not is_text and not isinstance(call, dict) and not own_calls:
            self._read_other(candidate, labels[0], part)

    def _read_other(self, candidate: _Candidate, label: str, part: JsonObject) -> None:
        """Read a part that is neither text nor a call: more of the open sound, or a block by itself."""
        line = as_json_text(part[label])
        type = type_of_part(as_object(part[label])) if label in GEMINI_PARTS else ""
        if candidate.sound is not None and candidate.sound[1] == type:
            self._grow(candidate.sound[0], f"\n{line}")
            return
        kind = BlockKind.MEDIA if label in GEMINI_PARTS else BlockKind.OTHER
        block = self._begin(candidate, kind, part, label=label)
        self._grow(block, line)
        if is_sound(type):
            candidate.sound = block, type
        else:
            self._complete(block)

    def _read_own_call(self, candidate: _Candidate, label: str, part: JsonObject) -> None:
        """Read a call that is not a function call: of code that Gemini runs, or of a tool of its own."""
        said = as_object(part[label])
        name = as_text(said.get("name")) or as_text(said.get("toolType")) or name_of(label)
        id = as_text(said.get("id"))
        block = self._begin(candidate, BlockKind.TOOL_CALL, part, id=id, name=name, label=label)
        self._grow(block, as_json_text(own_arguments(said)))
        self._complete(block)

    def _read_text(self, candidate: _Candidate, part: JsonObject) -> None:
        kind = BlockKind.THINKING if part.get("thought") is True else BlockKind.CONTENT
        text, signature = as_text(part.get("text")), as_text(part.get("thoughtSignature"))
        block = candidate.text
        if not text:
            if signature and block is not None:
                self._grow(block, signature=signature)
            return
        if block is None or block.kind is not kind:
            block = candidate.text = self._begin(candidate, kind, part)
        self._grow(block, text, signature=signature)

    def _read_call(self, candidate: _Candidate, call: JsonObject, part: JsonObject) -> None:
        name, id = as_text(call.get("name")), as_text(call.get("id"))
        block = candidate.call
        if block is None or name:
            if not any(call.get(key) for key in ("name", "id", "args", "partialArgs")):
                return
            block = candidate.call = self._begin(candidate, BlockKind.TOOL_CALL, part, id=id, name=name)
        goes_on = call.get("willContinue") is True
        pieces = self._pieces.setdefault(block.ordinal, [])
        pieces += objects(call.get("partialArgs"))
        if pieces:
            # Each client puts them together in its own way, and no policy reads them.
            self._contradict("the arguments of a call come in pieces")
        is_whole = bool(name) and not goes_on and not pieces
        self._grow(block, as_arguments(call.get("args", {} if is_whole else None)))
        if not goes_on:
            self._complete(block)
            candidate.call = None

    def _begin(
        self, candidate: _Candidate, kind: BlockKind, part: JsonObject, *, id: str = "", name: str = "", label: str = ""
    ) -> StreamBlock:
        """Start a block; whatever is open in the candidate is then complete."""
        if candidate.is_over:
            self._contradict("a candidate continues after its end")
        if candidate.unsealed:
            self._complete(candidate.unsealed[-1])
        candidate.text = candidate.call = candidate.sound = None
        block = self._start(kind, choice=candidate.number, id=id, name=name, label=label)
        candidate.unsealed.append(block)
        self._parts[block.ordinal] = part
        return block

    def _build(self) -> JsonObject:
        return build_message(self.state, self.head, self._parts, self._pieces)


def is_own_call(label: str, said: object) -> bool:
    """Whether a part that is not a function call is a call all the same, by its name or by its members."""
    if label == "functionCall" or not isinstance(said, dict):
        return False
    return label in _CODE or label.endswith(("Call", "_call")) or ("name" in said and "args" in said)
