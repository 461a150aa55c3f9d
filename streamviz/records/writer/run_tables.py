"""The tables of runs: their columns, and their rows in COPY's binary format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Generic, TypeVar
from uuid import UUID

from streamviz.records.writer.binary import NULL, int4, int4s, int8, joined
from streamviz.records.writer.tapes import ClientRun, UpstreamRun

_KEY = Struct(">hi16s")

RunT = TypeVar("RunT")


@dataclass(frozen=True)
class RunTable(Generic[RunT]):
    """A table of runs: its columns after the stream's id, and how each is encoded from a run."""

    name: str
    columns: dict[str, Callable[[RunT], bytes]]

    def copy(self) -> str:
        """The COPY statement that takes its rows."""
        return f"COPY {self.name} ({', '.join(('stream_id', *self.columns))}) FROM STDIN (FORMAT binary)"

    def row(self, stream_id: UUID, run: RunT) -> bytes:
        """A run as a row of this table."""
        key = _KEY.pack(1 + len(self.columns), 16, stream_id.bytes)
        return key + b"".join([write(run) for write in self.columns.values()])


def _offsets(times: Sequence[int]) -> list[int]:
    first = times[0]
    return [at - first for at in times]


UPSTREAM: RunTable[UpstreamRun] = RunTable(
    "records_upstreamrun",
    {
        "first_seq": lambda run: int4(run.first),
        "first_at": lambda run: int8(run.times[0]),
        "offsets": lambda run: int4s(_offsets(run.times)),
        "lengths": lambda run: int4s(run.lengths),
        "payload": lambda run: NULL if run.raws is None else joined(run.raws),
    },
)
CLIENT: RunTable[ClientRun] = RunTable(
    "records_clientrun",
    {
        "first_frame": lambda run: int4(run.first),
        "first_at": lambda run: int8(run.times[0]),
        "offsets": lambda run: int4s(_offsets(run.times)),
        "first_seq": lambda run: NULL if run.seq is None else int4(run.seq),
        "origin": lambda run: joined([run.origin.encode()]),
        "lengths": lambda run: int4s([len(raw) for raw in run.made]),
        "payload": lambda run: joined(run.made),
    },
)
