"""How much an answer of upstream's may be."""

from dataclasses import dataclass

from streamviz.core.errors import UpstreamError

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most bytes of an answer and of one event of it, the most blocks, and the most JSON values of an event or of a
    request: blocks and values an aggregator counts."""

    answer_bytes: int
    event_bytes: int
    blocks: int
    values: int

    def require_bytes(self, received: int) -> None:
        """Raises UpstreamError for an answer of more bytes."""
        if received > self.answer_bytes:
            raise too_much(f"an answer of more than {self.answer_bytes / MIB:g} MiB", "MAX_ANSWER_MB")

    def require_event(self, waiting: int) -> None:
        """`waiting` is how many bytes there are of an event that is not whole. Raises UpstreamError for more."""
        if waiting > self.event_bytes:
            raise too_much(f"an event of more than {self.event_bytes / MIB:g} MiB", "MAX_EVENT_MB")


def too_much(what: str, setting: str) -> UpstreamError:
    """The client's error when its answer is cut off."""
    return UpstreamError(502, f"upstream sent {what}, which is the limit here ({setting})")


def too_many_blocks(most: int) -> UpstreamError:
    """The same, for an answer of more blocks, or an event that tells of more things."""
    return too_much(f"more than {most} blocks", "MAX_BLOCKS")


def too_many_values(most: int) -> UpstreamError:
    """The same, for an event, or a whole answer, of more JSON values."""
    return too_much(f"more than {most} JSON values at once", "MAX_VALUES")
