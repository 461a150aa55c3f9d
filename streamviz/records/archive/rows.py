"""The contents of an archived part: runs of both tapes, and what the index says of them."""

from typing import NamedTuple

# Roughly how many bytes a number in a list takes.
_NUMBER = 4


class UpstreamRow(NamedTuple):
    """The fields of an UpstreamRun, except its stream."""

    first_seq: int
    first_at: int
    offsets: list[int]
    lengths: list[int]
    payload: bytes | None

    @property
    def size(self) -> int:
        """Roughly how many bytes it takes."""
        return len(self.payload or b"") + _NUMBER * (len(self.offsets) + len(self.lengths))


class ClientRow(NamedTuple):
    """The fields of a ClientRun, except its stream."""

    first_frame: int
    first_at: int
    offsets: list[int]
    first_seq: int | None
    origin: str
    lengths: list[int]
    payload: bytes

    @property
    def size(self) -> int:
        """Roughly how many bytes it takes."""
        return len(self.payload) + _NUMBER * (len(self.offsets) + len(self.lengths))


class IndexRow(NamedTuple):
    """The chunks and frames of a part, each from the first to the one after the last; how many chunks, and how many
    bytes they have; and whether the bytes of all of them are kept."""

    first_seq: int
    end_seq: int
    first_frame: int
    end_frame: int
    chunks: int
    payload_bytes: int
    is_whole: bool
