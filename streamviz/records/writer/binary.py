"""Rows of the tables of runs as COPY's binary format wants them: the driver's own way takes ten times as long.

Format: https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from struct import Struct, pack
from typing import Generic, TypeVar
from uuid import UUID

from streamviz.records.writer.tapes import ClientRun, UpstreamRun

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
_NULL = b"\xff\xff\xff\xff"
_INT4_TYPE = 23
_KEY = Struct(">hi16s")
_INT4 = Struct(">ii")
_INT8 = Struct(">iq")

RunT = TypeVar("RunT")


@dataclass(frozen=True)
class RunTable(Generic[RunT]):
    """A table of runs: behind the stream's id these columns, and how a run's value is written."""

    name: str
    columns: dict[str, Callable[[RunT], bytes]]

    def copy(self) -> str:
        """The statement that takes rows."""
        return f"COPY {self.name} ({', '.join(('stream_id', *self.columns))}) FROM STDIN (FORMAT binary)"

    def row(self, stream_id: UUID, run: RunT) -> bytes:
        """A run as a row of it."""
        key = _KEY.pack(1 + len(self.columns), 16, stream_id.bytes)
        return key + b"".join([write(run) for write in self.columns.values()])


def _offsets(times: Sequence[int]) -> list[int]:
    first = times[0]
    return [at - first for at in times]


def _int4(value: int) -> bytes:
    return _INT4.pack(4, value)


def _int8(value: int) -> bytes:
    return _INT8.pack(8, value)


def _bytes(pieces: Sequence[bytes]) -> bytes:
    return b"".join((pack(">i", sum(map(len, pieces))), *pieces))


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


UPSTREAM: RunTable[UpstreamRun] = RunTable(
    "records_upstreamrun",
    {
        "first_seq": lambda run: _int4(run.first),
        "first_at": lambda run: _int8(run.times[0]),
        "offsets": lambda run: _int4s(_offsets(run.times)),
        "lengths": lambda run: _int4s(run.lengths),
        "payload": lambda run: _NULL if run.raws is None else _bytes(run.raws),
    },
)
CLIENT: RunTable[ClientRun] = RunTable(
    "records_clientrun",
    {
        "first_frame": lambda run: _int4(run.first),
        "first_at": lambda run: _int8(run.times[0]),
        "offsets": lambda run: _int4s(_offsets(run.times)),
        "first_seq": lambda run: _NULL if run.seq is None else _int4(run.seq),
        "origin": lambda run: _bytes([run.origin.encode()]),
        "lengths": lambda run: _int4s([len(raw) for raw in run.made]),
        "payload": lambda run: _bytes(run.made),
    },
)
