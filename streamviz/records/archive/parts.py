"""Group the runs of one stream into parts, each small enough to be read at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from streamviz.records.archive.rows import ClientRow, IndexRow, UpstreamRow

# Of a long stream, a page reads only some parts.
PART_BYTES = 2**20


@dataclass
class Runs:
    """Runs of both tapes of one stream, each in order."""

    upstream: list[UpstreamRow] = field(default_factory=list)
    client: list[ClientRow] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Roughly how many bytes they take."""
        return sum(row.size for row in self.upstream) + sum(row.size for row in self.client)

    def index_row(self) -> IndexRow:
        """What the index says of them."""
        up, down = self.upstream, self.client
        return IndexRow(
            first_seq=up[0].first_seq if up else 0,
            end_seq=up[-1].first_seq + len(up[-1].offsets) if up else 0,
            first_frame=down[0].first_frame if down else 0,
            end_frame=down[-1].first_frame + len(down[-1].offsets) if down else 0,
            chunks=sum(len(row.offsets) for row in up),
            payload_bytes=sum(len(row.payload or b"") for row in up),
            is_whole=all(row.payload is not None for row in up),
        )


def parts(upstream: Iterable[UpstreamRow], client: Iterable[ClientRow]) -> Iterator[Runs]:
    """A stream's runs, grouped into parts."""
    part, size = Runs(), 0
    for row in upstream:
        part.upstream.append(row)
        size += row.size
        if size >= PART_BYTES:
            yield part
            part, size = Runs(), 0
    for frames in client:
        part.client.append(frames)
        size += frames.size
        if size >= PART_BYTES:
            yield part
            part, size = Runs(), 0
    if part.upstream or part.client:
        yield part
