"""Rows of the tables of runs as COPY's binary format wants them: the driver's own way takes ten times as long.

Format: https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
"""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from struct import Struct, pack
from uuid import UUID

from streamviz.records.writer.tapes import ClientRun, UpstreamRun

UPSTREAM_COLUMNS = "stream_id, first_seq, first_at, offsets, lengths, payload"
CLIENT_COLUMNS = "stream_id, first_frame, first_at, offsets, first_seq, origin, lengths, payload"

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
_NULL = (b"\xff\xff\xff\xff",)
_INT4_TYPE = 23
_KEY = Struct(">hi16siiiq")


def upstream_row(stream_id: UUID, run: UpstreamRun) -> bytes:
    """A row with the columns UPSTREAM_COLUMNS."""
    return b"".join(
        (
            _KEY.pack(6, 16, stream_id.bytes, 4, run.first, 8, run.times[0]),
            _int4s(_offsets(run.times)),
            _int4s(run.lengths),
            *(_NULL if run.raws is None else _bytes(run.raws)),
        )
    )


def client_row(stream_id: UUID, run: ClientRun) -> bytes:
    """A row with the columns CLIENT_COLUMNS."""
    return b"".join(
        (
            _KEY.pack(8, 16, stream_id.bytes, 4, run.first, 8, run.times[0]),
            _int4s(_offsets(run.times)),
            *(_NULL if run.seq is None else (pack(">ii", 4, run.seq),)),
            *_bytes([run.origin.encode()]),
            _int4s([len(raw) for raw in run.made]),
            *_bytes(run.made),
        )
    )


def _offsets(times: Sequence[int]) -> list[int]:
    first = times[0]
    return [at - first for at in times]


def _bytes(pieces: Iterable[bytes]) -> tuple[bytes, bytes]:
    joined = b"".join(pieces)
    return pack(">i", len(joined)), joined


def _int4s(values: Sequence[int]) -> bytes:
    """An int4[] of one dimension; an empty array has none."""
    if not values:
        return pack(">iiii", 12, 0, 0, _INT4_TYPE)
    size = 20 + 8 * len(values)
    head = pack(">iiiiii", size, 1, 0, _INT4_TYPE, len(values), 1)
    return head + _elements(len(values)).pack(*chain.from_iterable((4, value) for value in values))


@cache
def _elements(count: int) -> Struct:
    """Each element is its length and its value; a run has few sizes, so few of these are made."""
    return Struct(">" + "ii" * count)
