"""What the linters of all formats share: chunks in, notes out, each rule noted once with its first chunk."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from streamviz.core.aggregator import DONE, Chunk
from streamviz.core.json_value import JsonObject, as_object, value_in

# Rules that every format has.
EVERYWHERE = {
    "not_json": "each event's data is a JSON object",
    "end_missing": "a stream ends with its format's last word",
    "after_end": "nothing follows the last word",
}


class Note(NamedTuple):
    """A rule that was broken `times` times, first by the chunk `seq`. `words` say how, without quoting upstream."""

    rule: str
    seq: int
    words: str
    times: int


class Linter(ABC):
    """Reads the chunks of one stream, in order; takes some µs per chunk, and keeps one note per rule.

    An answer that is not a stream has no rules. Nothing that it is given makes it raise.
    """

    rules: ClassVar[Mapping[str, str]]

    def __init__(self) -> None:
        self._notes: dict[str, Note] = {}
        self._seq = 0
        self._is_stream = False
        self._has_ended = False
        self._has_failed = False

    @property
    def notes(self) -> list[Note]:
        """The notes, in the order of the chunks at which each rule was first broken."""
        return sorted(self._notes.values(), key=lambda note: note.seq)

    def read(self, chunk: Chunk) -> None:
        """Take a chunk in."""
        self._seq = chunk.seq
        if chunk.data is None or chunk.raw == chunk.data:
            return
        self._is_stream = True
        if chunk.data.startswith(DONE):
            self._read_done()
            return
        payload = value_in(chunk.data)
        if not isinstance(payload, dict):
            self._note("not_json", "the data is not a JSON object")
        elif self._has_ended and not self._may_follow(payload):
            self._note("after_end", "an event after the last word")
        else:
            self._read(payload, chunk.name)

    def read_usual(self, raw: bytes) -> bool:
        """Take in the bytes of a chunk, quickly, if it is of the most common kind and breaks no rule. False if it is
        left to `read`."""
        return False

    def end(self, is_whole: bool = True) -> None:
        """End the stream. What is missing is noted only if it `is_whole`: neither cut off nor failed."""
        if is_whole and self._is_stream and not self._has_failed:
            if not self._has_ended:
                self._note("end_missing", "the stream just ends")
            self._end()

    def _note(self, rule: str, words: str) -> None:
        known = self._notes.get(rule)
        self._notes[rule] = known._replace(times=known.times + 1) if known else Note(rule, self._seq, words, 1)

    def _read_done(self) -> None:
        self._has_ended = True

    def _may_follow(self, payload: JsonObject) -> bool:
        return False

    @abstractmethod
    def _read(self, payload: JsonObject, name: str) -> None: ...

    @abstractmethod
    def _end(self) -> None: ...


def objects_in(value: object) -> list[JsonObject]:
    """The elements of a list as objects, empty for any other value; none if it is not a list."""
    return [as_object(each) for each in value] if isinstance(value, list) else []


def number_in(payload: JsonObject, name: str) -> int | None:
    """A whole number; None for anything else."""
    value = payload.get(name)
    return value if isinstance(value, int) else None
