"""Records: what is written is read back, and a truncation or a flipped bit loses only what comes after it."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.context import Frame
from streamviz.records.block_record import BlockRecord
from streamviz.records.journal.decoding import length_at, records_in
from streamviz.records.journal.encoding import HEADER, append_record
from streamviz.records.recorder import AnyEntry, ChunksReceived, StreamClosed, StreamOpened
from streamviz.records.verdict_record import VerdictRecord
from tests.records.filled import filled
from tests.records.support import block, closed, judged, opened, passed, received, sent, verdict

STREAM = uuid.UUID(int=7)
EVERY_KIND: list[AnyEntry] = [
    opened(STREAM, key_id=3, request=b"\x00\xff"),
    received(STREAM, [b"", b"\x00", b"data: \xc3\n\n"]),
    ChunksReceived(STREAM, 3, 9, [], [120, 0]),
    sent(STREAM, [*passed([0, 1]), Frame(b"\xff", None, "guard")]),
    judged(STREAM, verdict(5), verdict(5, number=1, failure="time")),
    closed(STREAM, usage=None, blocks=[block(), block(1, held_by=("a", "b"), index=2)]),
    filled(StreamOpened, stream_id=STREAM, session_id=STREAM),
    judged(STREAM, filled(VerdictRecord)),
    filled(StreamClosed, stream_id=STREAM, blocks=[filled(BlockRecord)]),
]


def record(entry: AnyEntry) -> bytes:
    buffer = bytearray()
    append_record(entry, buffer)
    return bytes(buffer)


RECORDS = [record(entry) for entry in EVERY_KIND]
WHOLE = b"".join(RECORDS)


def test_every_kind_of_entry_comes_back_as_it_was() -> None:
    found, length = records_in(WHOLE)
    assert [type(entry) for entry in found] == [type(entry) for entry in EVERY_KIND]
    assert b"".join(record(entry) for entry in found) == WHOLE
    assert length == len(WHOLE)


def whole_before(place: int) -> int:
    """How many records end before a position."""
    ends = [len(b"".join(RECORDS[: n + 1])) for n in range(len(RECORDS))]
    return sum(end <= place for end in ends)


@given(st.integers(0, len(WHOLE)))
def test_a_cut_at_any_byte_leaves_the_whole_records_before_it(cut: int) -> None:
    found, length = records_in(WHOLE[:cut])
    assert found == records_in(b"".join(RECORDS[: whole_before(cut)]))[0]
    assert length == len(b"".join(RECORDS[: whole_before(cut)]))


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 7))
def test_a_flipped_bit_costs_nothing_before_its_record(place: int, bit: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= 1 << bit
    found, _ = records_in(bytes(damaged))
    assert len(found) == whole_before(place)


def test_it_says_how_long_a_record_is_before_all_of_it_is_there() -> None:
    assert length_at(RECORDS[0][: HEADER.size], 0) == len(RECORDS[0])
    assert length_at(RECORDS[0][: HEADER.size - 1], 0) is None


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    entry = closed(STREAM, error="a\ud800b", blocks=[block(text="\udfff", held_by=("\ud800",))])
    [found], _ = records_in(record(entry))
    assert found == closed(STREAM, error="a?b", blocks=[block(text="?", held_by=("?",))])
