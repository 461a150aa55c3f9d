"""What the pages show of a stream, running or long over. Times are µs since the epoch; None is unknown."""

import uuid
from collections.abc import Sequence
from functools import cached_property

import msgspec

from streamviz.core.judgements import Hold, NotRun
from streamviz.core.tokens import Tokens
from streamviz.live.presentation import marks
from streamviz.live.presentation.block_views import BlockView, VerdictView, tail_line
from streamviz.live.presentation.text import one_line

# A stream that has had no chunk for this long is stalled.
STALLED_US = 5_000_000
# Shorter holds are not shown on the Live page: rows would come and go with each tool call.
LASTING_US = 2_000_000
# How many characters a row gets of a block that a person is asked about, to show its call.
ASKED_CHARACTERS = 4_000


class CallMark(msgspec.Struct, frozen=True, gc=False):
    """A call of a run, in its row: what it is for, and its state, as a word and as a shape."""

    id: uuid.UUID
    part: str
    word: str
    css: str


class StreamView(msgspec.Struct, frozen=True, dict=True):
    """A stream. `received_at` has one time per chunk; `passed_seqs` and `passed_at` are the chunks that the client was
    sent as they came, in order, and when; `made_at` has the times of the frames that are not chunks. `sending_since` is
    set while the client's socket is full."""

    id: uuid.UUID
    session_id: uuid.UUID
    session_label: str
    key_name: str
    endpoint: str
    wire_format: str
    requested_model: str
    upstream_model: str
    provider: str
    requested_at: int
    upstream_first_at: int | None
    client_first_at: int | None
    ended_at: int | None
    last_received_at: int | None
    outcome: str
    finish_reason: str
    error: str
    tokens: Tokens
    cost: float | None
    itl_p50: int | None
    itl_p95: int | None
    chunk_count: int
    frame_count: int
    user_agent: str
    blocks: Sequence[BlockView]
    verdicts: Sequence[VerdictView]
    session_name: str = ""
    received_at: Sequence[int] = ()
    passed_seqs: Sequence[int] = ()
    passed_at: Sequence[int] = ()
    made_at: Sequence[int] = ()
    client_waits: Sequence[tuple[int, int | None]] = ()
    """From when to when the client read nothing of what it was sent; None if it still does not."""
    sending_since: int | None = None
    not_run: Sequence[NotRun] = ()
    """The policies that did not judge it, and why."""
    left_out: str = ""
    """What the provider could not take of the request, by name."""
    request_headers: dict[str, str] = {}
    """Those that are kept, except the user agent."""
    executor: str = ""
    """What answers it with calls of its own; it is then a run."""
    part: str = ""
    """What a call of a run is for."""
    calls: Sequence[CallMark] = ()
    """The last calls of a run, on the Live page."""
    call_count: int = 0
    parent: uuid.UUID | None = None
    """The stream that it continues, or the run that it is a call of."""
    relation: str = ""
    """How it continues that (`Relation`)."""
    status: int | None = None
    """The HTTP status of the answer that the client got."""
    client_finish: str | None = None
    """Why the answer ended as the client had it, if that is known."""
    awaited: tuple[str, ...] = ()
    """The policies that its request waits for: upstream has not been asked yet."""

    @property
    def is_running(self) -> bool:
        return not self.outcome

    @property
    def label(self) -> str:
        """What its session is called."""
        return one_line(self.session_label, 200) or self.session_known_as

    @property
    def session_known_as(self) -> str:
        """The id by which its client knows the session; the beginning of ours if it gave none."""
        return one_line(self.session_name, 200) or str(self.session_id)[:13]

    @property
    def model(self) -> str:
        return one_line(self.requested_model, 200)

    @property
    def short_id(self) -> str:
        return str(self.id)[:13]

    @cached_property
    def held(self) -> list[BlockView]:
        return [block for block in self.blocks if block.is_held]

    @cached_property
    def asking(self) -> list[BlockView]:
        """The blocks that a person is asked about."""
        return [block for block in self.held if block.waits_for_person]

    @property
    def quiet_since(self) -> int:
        """Since when upstream has sent nothing."""
        return self.last_received_at or self.requested_at

    def is_client_slow(self, now: int) -> bool:
        """Whether the client has not read what it was sent, for long enough to call that the stall's cause."""
        return self.sending_since is not None and now - self.sending_since > STALLED_US

    def state(self, now: int) -> marks.StateMark:
        """Its state at the time `now`."""
        return self._held_state(bool(self.held), now)

    def settled_state(self, now: int) -> marks.StateMark:
        """The same, ignoring holds that may be over in a moment: most tool calls are held only while they arrive."""
        is_held = any(has_lasted(block.held_at or now, block.waits_for_person, now) for block in self.held)
        return self._held_state(is_held, now)

    def _held_state(self, is_held: bool, now: int) -> marks.StateMark:
        if self.outcome:
            return marks.OUTCOMES[self.outcome]
        if is_held:
            return marks.ASKS if self.asking else marks.HELD
        return marks.STALLED if now - self.quiet_since > STALLED_US else marks.RUNNING

    @property
    def tail(self) -> str:
        """The end of the newest block that has any text."""
        for block in reversed(self.blocks):
            if block.length:
                return tail_line(block.kind, block.name, block.text)
        return ""

    def since_start(self, at: int | None) -> int | None:
        """How long after the request something happened (µs)."""
        return None if at is None else at - self.requested_at


def has_lasted(since: int, waits_for_person: bool, now: int) -> bool:
    """Whether a hold is longer than the moment in which a tool call arrives, so that somebody should look at it."""
    return waits_for_person or now - since >= LASTING_US


def is_lasting(hold: Hold, now: int) -> bool:
    """Whether it is such a hold, and not over."""
    return hold.ended_at is None and has_lasted(hold.since, hold.asks is not None, now)
