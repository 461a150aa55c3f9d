"""What a stream's policies know about it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.request import ModelCall
from streamviz.core.tokens import Tokens

UPSTREAM = "upstream"
# The origin of frames that neither upstream nor a policy made.
OURSELVES = "streamviz"


class Frame(msgspec.Struct, frozen=True, gc=False):
    """What goes to the client: a chunk of upstream's (`seq` is its number) or bytes that a policy made.

    A chunk from which something is left out has its number, too, and OURSELVES for its origin.
    """

    raw: bytes
    seq: int | None
    origin: str = UPSTREAM


def shows_block(seq: int | None, origin: str, first: int) -> bool:
    """Whether a frame, by its chunk's number and its origin, shows the client any of a block that begins with the chunk
    `first`; frames of our own are keep-alives and errors."""
    return origin != OURSELVES if seq is None else seq >= first


@dataclass(slots=True)
class SessionCounts:
    """The totals of other streams of a session, or of a key. `cost` is in US dollars, `began_at` in µs since the epoch.

    `is_estimate` says that a provider did not report the tokens of one; `unpriced` counts those of unknown price.
    `running` counts other streams that are under way: they may still add `reserved_tokens` and `reserved_cost`, and
    `unbounded` of them have no limit. `trouble` says why none of this is known.
    """

    began_at: int = 0
    streams: int = 0
    blocks: int = 0
    tool_calls: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    is_estimate: bool = False
    unpriced: int = 0
    running: int = 0
    reserved_tokens: int = 0
    reserved_cost: float = 0.0
    unbounded: int = 0
    trouble: str = ""

    def add(self, spent: "SessionCounts") -> None:
        """Add the totals of others."""
        self.began_at = min(filter(None, (self.began_at, spent.began_at)), default=0)
        self.streams += spent.streams
        self.blocks += spent.blocks
        self.tool_calls += spent.tool_calls
        self.output_tokens += spent.output_tokens
        self.cost += spent.cost
        self.is_estimate |= spent.is_estimate
        self.unpriced += spent.unpriced
        self.running += spent.running
        self.reserved_tokens += spent.reserved_tokens
        self.reserved_cost += spent.reserved_cost
        self.unbounded += spent.unbounded
        self.trouble = self.trouble or spent.trouble


Price = Callable[[Tokens], float | None]


def unknown_price(tokens: Tokens) -> float | None:
    return None


@dataclass(slots=True)
class StreamingContext:
    """What a stream's policies share. `now` returns µs since the epoch.

    `send` and `terminate` fill `outbox` and set `is_terminated`; the driver of the stream acts on them. `price` returns
    what tokens cost (US dollars, None if that is not known); `began_at` is when the request came (µs since the epoch).
    `request` is the request as it goes upstream. `owner` is whose it is: if many wait, owners take turns. `of_key` has
    the totals of the client's key in the hour, day or month, if a policy counts them; `scoped` has those for policies
    that are only for some models or keys, by policy and period (`counts_of`).
    """

    run_id: str
    now: Callable[[], int]
    request: ModelCall = field(default_factory=ModelCall)
    session: SessionCounts = field(default_factory=SessionCounts)
    state: StreamState = field(default_factory=StreamState)
    price: Price = unknown_price
    began_at: int = 0
    owner: str = ""
    of_key: dict[str, SessionCounts] = field(default_factory=dict)
    scoped: dict[tuple[object, str], SessionCounts] = field(default_factory=dict)
    outbox: list[Frame] = field(default_factory=list)
    is_terminated: bool = False
    _memory: dict[object, dict[str, object]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long ago the request came; 0 if that is not known."""
        return (self.now() - self.began_at) / 1_000_000 if self.began_at else 0.0

    def send(self, chunk: Chunk) -> None:
        """Let a chunk of upstream's through, as it is."""
        self.outbox.append(Frame(chunk.raw, chunk.seq, OURSELVES if chunk.is_cut else UPSTREAM))

    def send_made(self, raw: bytes, origin: str) -> None:
        """Send bytes that upstream did not; `origin` names the policy that made them."""
        self.outbox.append(Frame(raw, None, origin))

    def terminate(self) -> None:
        """Read nothing more from upstream, and send nothing more to the client."""
        self.is_terminated = True

    def counts_of(self, policy: object, period: str = "") -> SessionCounts:
        """What the calls that a policy is for came to in this session, or with a `period` (hour, day or month) in that
        of the client's key."""
        everything = self.of_key.get(period) if period else self.session
        return self.scoped.get((policy, period)) or everything or SessionCounts()

    def memory_of(self, policy: object) -> dict[str, object]:
        """What a policy remembers of this stream; empty at first."""
        return self._memory.setdefault(policy, {})
