"""What the aggregators of all wire formats share: taking chunks in, keeping blocks, giving events out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from streamviz.core import json_value
from streamviz.core.blocks import Told
from streamviz.core.bounds import too_many_values
from streamviz.core.emitter import Emitter, OnEvent
from streamviz.core.errors import AlreadyComplete, NothingAggregated, UpstreamError
from streamviz.core.events import MALFORMED_CHUNK, BlockDelta, StreamEvent, StreamFailed, processing_error
from streamviz.core.repeats import PADDING, Repeats, TextPlace
from streamviz.core.sse import is_ambiguous, write_event

ChunkT = TypeVar("ChunkT", bound="Chunk")
MessageT = TypeVar("MessageT")
DONE = b"[DONE]"
_NOTHING = object()
_AMBIGUOUS = "an event may be taken for another"


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One event as upstream sent it. `received_at` is in µs since the epoch; `data` is None if it has no payload."""

    seq: int
    received_at: int
    raw: bytes
    data: bytes | None
    name: str = ""
    is_cut: bool = False
    """Whether it is not as upstream sent it: what its format does not have is left out, or its JSON written anew."""


class Beside(NamedTuple):
    """What a payload says beside its blocks: whether it has text, or a call, where `_read` does not look; what it says
    about the answer itself that is new; and whether it has something superfluous that some clients stumble over."""

    says: bool = False
    told: Sequence[Told] = ()
    has_needless: bool = False


class _Prepared(NamedTuple):
    """What is known of a chunk before it is taken in. In place of a payload that is not read there is the reason."""

    chunk: Chunk
    is_ambiguous: bool
    payload: object
    beside: Beside


def _is_whole(chunk: Chunk) -> bool:
    """Whether a chunk is a whole answer, all of which is data."""
    return chunk.raw == chunk.data


class Aggregator(Emitter, ABC, Generic[ChunkT, MessageT]):
    """Turns the chunks of one response into events and blocks.

    `on_event` is called with each event, in order, once `state` has taken it in. `run_id` names the stream in errors;
    `has_end_mark` says whether upstream's end mark came (`[DONE]`, `message_stop`, the end of a response); `head` holds
    the message's own fields (id, model), the same object for the whole stream, so that a composer that continues it can
    share it; `body` is all of an answer that is not a stream. A format implements `_read`, which calls the methods
    below for what it finds in a payload.

    `answers_asked`, to be set if it is known, says how many answers the request asks for: many clients take whichever
    choice comes first for the only one. `is_judged`, to be set to False if no policy acts on the stream, says
    whether to look for what only policies need to know of: what its chunks say beside its blocks.

    If a stream has more than `most_blocks` blocks or choices, if one event has more new things than that allows
    (`BlockLimit`), or more than `most_values` JSON values, `aggregate` raises UpstreamError as soon as that is seen;
    the state then has what was taken in until then. None means no limit.
    """

    def __init__(
        self,
        on_event: OnEvent | None = None,
        run_id: str = "",
        most_blocks: int | None = None,
        most_values: int | None = None,
    ) -> None:
        self.run_id = run_id
        self.most_values = most_values
        self.is_judged = True
        super().__init__(on_event, most_blocks)

    def clear(self) -> None:
        """Get ready for the next stream; nothing of the last one is left."""
        super().clear()
        self.is_complete = False
        self.has_end_mark = False
        self.head: json_value.JsonObject = {}
        self.body: json_value.JsonObject = {}
        # The values in the head that the latest chunk replaced.
        self._head_before: json_value.JsonObject = {}
        self._seen = False
        self._prepared: _Prepared | None = None
        self._repeats = Repeats()

    @property
    def has_last_word(self) -> bool:
        """Whether upstream's end mark came, or it reported a failure and has sent nothing since."""
        state = self.state
        failure = state.failure
        is_its_own = failure is not None and failure.kind != MALFORMED_CHUNK
        return self.has_end_mark or (is_its_own and state.failed_seq == state.last_seq)

    def as_read(self, chunk: ChunkT) -> ChunkT:
        """The chunk as it is to be read: with data that is in no field of its event, if clients read that. To be called
        before `prepare`."""
        return chunk

    def prepare(self, chunk: ChunkT, *, leave_out: bool = False) -> None:
        """Do the slow part of `aggregate`, which is to be called next, with `prepared` of the same chunk. The state is
        left alone, so another thread may do this. With `leave_out`, what the format does not have is left out of the
        prepared chunk, if it can be separated from the rest, and JSON that clients read in different ways is written
        anew, as it was read."""
        self._prepared = None
        data = chunk.data
        if not data or data.startswith(DONE) or self._repeats.text_of(chunk.raw):
            return
        beside, is_for_all, is_strict = Beside(), True, True
        payload: object
        try:
            payload, is_for_all, is_strict = self._payload(data)
            if isinstance(payload, dict) and self.is_judged:
                beside = self._look_beside(payload, chunk.name)
        except UpstreamError as error:
            payload = error
        except Exception:  # `aggregate` fails in the same way, and reports it.
            return
        self._prepared = _Prepared(
            chunk, self._may_be_another(chunk) or not (is_for_all or _is_whole(chunk)), payload, beside
        )
        if not leave_out or not isinstance(payload, dict):
            return
        has_needless = beside.has_needless and not _is_whole(chunk)
        if beside.says or has_needless or not is_strict or json_value.has_name_twice(data, payload):
            self._prepared = self._left_of(self._prepared, has_needless=has_needless)

    def prepared(self, chunk: ChunkT) -> Chunk:
        """The chunk as it was prepared: itself, unless something is left out."""
        return chunk if self._prepared is None else self._prepared.chunk

    def _left_of(self, prepared: _Prepared, *, has_needless: bool) -> _Prepared:
        """What goes on of a prepared chunk: all of it, if it stays suspect whatever is left out."""
        chunk, is_ambiguous, payload, beside = prepared
        if is_ambiguous or not isinstance(payload, dict):
            return prepared
        needed = self._needed_of(payload) if has_needless else payload
        known = json_value.as_object(self._known_of(needed, chunk.name))
        if self._says_beside(known, chunk.name):
            return prepared
        data = json_value.encode(known)
        raw = data if _is_whole(chunk) else write_event(data, chunk.name)
        cut = msgspec.structs.replace(chunk, raw=raw, data=data, is_cut=True)
        return _Prepared(cut, False, known, Beside(False, beside.told))

    def aggregate(self, chunk: ChunkT) -> list[StreamEvent]:
        """Take a chunk in and return its events. Raises AlreadyComplete after close() or build(), UpstreamError for one
        that exceeds a limit."""
        if self.is_complete:
            raise AlreadyComplete(f"stream {self.run_id or '?'} is complete: it takes no more chunks")
        self._seen = True
        self._begin_event()
        state = self.state
        state.begin_chunk(chunk.seq, chunk.received_at)
        # What is left of a cut chunk may be like the last one, but the texts that were cut off still have to be noted.
        if not chunk.is_cut and (text := self._repeats.text_of(chunk.raw)):
            self._head_before = {}
            self._emit(BlockDelta(self._repeats.ordinal, text))
            if self.is_judged and (padding := self._repeats.padding) is not None:
                state.beside = self._told_in(padding)
            return state.events
        self._repeats.forget()
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared.chunk.data is not chunk.data:
            prepared = None
        if self._may_be_another(chunk) if prepared is None else prepared.is_ambiguous:
            self._contradict(_AMBIGUOUS)
        if chunk.data:
            if chunk.data.startswith(DONE):
                self.has_end_mark = True
            else:
                self._read_data(chunk, chunk.data, prepared)
        return state.events

    def forget(self) -> None:
        """Undo what the latest chunk changed in the head, as nothing of it is to go out."""
        for name, value in self._head_before.items():
            if value is _NOTHING:
                self.head.pop(name, None)
            else:
                self.head[name] = value

    def close(self) -> list[StreamEvent]:
        """End the input: complete and seal every block; open ones of a choice without finish_reason are truncated."""
        state = self.state
        state.begin_chunk(state.last_seq, state.last_at)
        if self.is_complete:
            return []
        self.is_complete = True
        state.is_truncated = not state.finish_reasons
        self._leave_off()
        for block in state.blocks:
            truncated = block.choice not in state.finish_reasons
            state.is_truncated |= truncated
            self._end(block, truncated)
        return state.events

    def build(self) -> MessageT:
        """The whole message, as the format's non-streaming answer. Raises NothingAggregated when no chunk came."""
        if not self._seen:
            raise NothingAggregated("no chunk has come: there is no message to build")
        self.close()
        return self._build()

    @abstractmethod
    def _read(self, payload: json_value.JsonObject, name: str) -> None:
        """Find the events in one payload."""

    def _may_be_another(self, chunk: ChunkT) -> bool:
        return not _is_whole(chunk) and self._is_ambiguous(chunk)

    def _is_ambiguous(self, chunk: ChunkT) -> bool:
        """Whether clients may find something different in an event from what is read here."""
        return is_ambiguous(chunk.raw, chunk.data)

    def _look_beside(self, payload: json_value.JsonObject, name: str) -> Beside:
        """Look where `_read` does not. The state is left alone."""
        told = self._told_beside(payload, name)
        return Beside(self._says_beside(payload, name), told)

    @staticmethod
    def _text_place(payload: json_value.JsonObject) -> TextPlace | None:
        """The place of the text that a payload just read adds to a block, if another text there would change nothing
        else: neither the state nor what is found beside it."""
        return None

    def _told_beside(self, payload: json_value.JsonObject, name: str) -> Sequence[Told]:
        """What a payload says about the answer itself that is new."""
        return ()

    def _told_in(self, padding: str) -> Sequence[Told]:
        """What is new in a chunk that has this padding and is otherwise like the last."""
        return ()

    def _says_beside(self, payload: json_value.JsonObject, name: str) -> bool:
        """Whether a payload has text, or a call, where `_read` does not look."""
        return False

    def _known_of(self, payload: json_value.JsonObject, name: str) -> object:
        """The payload without members that its format does not have and that contain text."""
        return payload

    def _needed_of(self, payload: json_value.JsonObject) -> json_value.JsonObject:
        """The payload without anything superfluous (`Beside.has_needless`)."""
        return payload

    def _leave_off(self) -> None:
        """Add to open blocks what came for them and is in none yet: the input has ended."""

    @abstractmethod
    def _build(self) -> MessageT: ...

    def _read_data(self, chunk: ChunkT, data: bytes, prepared: _Prepared | None) -> None:
        payload, is_for_all, _ = self._payload(data) if prepared is None else (prepared.payload, True, True)
        if not (is_for_all or _is_whole(chunk)):
            self._contradict(_AMBIGUOUS)
        if isinstance(payload, UpstreamError):
            raise payload
        if isinstance(payload, dict):
            if _is_whole(chunk):
                self.body.update(payload)
            self._read_payload(payload, chunk.name, prepared and prepared.beside)
            self._learn(chunk, payload)
        else:
            self._emit(StreamFailed("upstream sent a chunk that is not a JSON object", kind=MALFORMED_CHUNK))

    def _learn(self, chunk: ChunkT, payload: json_value.JsonObject) -> None:
        """Remember this chunk to recognise the next by it, if that is likely to differ only in its text."""
        state = self.state
        if not state.events or state.is_suspect or chunk.is_cut or not self._repeats.may_learn:
            return
        padding = [payload.get(name) for name in PADDING]  # new in each chunk (`_told_in`)
        if any(told.text not in padding for told in state.beside):
            return
        *others, last = state.events
        if not isinstance(last, BlockDelta) or any(isinstance(event, BlockDelta) for event in others):
            return
        self._repeats.learn(chunk.raw, chunk.name, payload, self._text_place, last)

    def _payload(self, data: bytes) -> json_value.Decoded:
        """A payload, None also if it is not JSON. Raises UpstreamError for too many values."""
        if self.most_values is not None and json_value.has_more_values(data, self.most_values):
            raise too_many_values(self.most_values)
        try:
            return json_value.decode_for_all(data)
        except ValueError:
            return json_value.Decoded(None, True, True)

    def _read_payload(self, payload: json_value.JsonObject, name: str, beside: Beside | None) -> None:
        self._head_before = {}
        try:
            self._read(payload, name)
            if self.is_judged:
                self._note_beside(self._look_beside(payload, name) if beside is None else beside)
        except UpstreamError:
            raise
        except Exception as error:  # An unforeseen payload must not end a stream on which no policy acts.
            self._emit(processing_error(f"chunk {self.state.last_seq} could not be read", error))

    def _note_beside(self, found: Beside) -> None:
        self.state.beside = found.told
        if found.says:
            self._contradict("there is text where its format has none")

    def _tell_head(self, members: json_value.JsonObject) -> None:
        """Note what a chunk says about the answer itself; `forget` undoes that."""
        for name in members:
            self._head_before.setdefault(name, self.head.get(name, _NOTHING))
        self.head.update(members)
