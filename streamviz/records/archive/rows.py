"""What a part of a stream in the archive has: runs of either tape, and what the index says of them."""

from typing import NamedTuple

# Bytes that a number in a list takes, about.
_NUMBER = 4


class UpstreamRow(NamedTuple):
    """The fields of an UpstreamRun but its stream."""

    first_seq: int
    first_at: int
    offsets: list[int]
    lengths: list[int]
    payload: bytes | None

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.payload or b"") + _NUMBER * (len(self.offsets) + len(self.lengths))


class ClientRow(NamedTuple):
    """The fields of a ClientRun but its stream."""

    first_frame: int
    first_at: int
    offsets: list[int]
    first_seq: int | None
    origin: str
    lengths: list[int]
    payload: bytes

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.payload) + _NUMBER * (len(self.offsets) + len(self.lengths))


class Outline(NamedTuple):
    """The chunks and frames of a part, from the first to the one behind the last; how many chunks, and bytes of theirs;
    whether the bytes of all of them are kept."""

    first_seq: int
    end_seq: int
    first_frame: int
    end_frame: int
    chunks: int
    payload_bytes: int
    is_whole: bool
