"""What the pages show of a stream, whether it runs or is long over. Times are µs since the epoch; None is unknown."""

import uuid
from collections.abc import Sequence
from functools import cached_property

import msgspec

from streamviz.core.events import BlockKind
from streamviz.core.judgements import Hold, NotRun
from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Decision
from streamviz.live.presentation import marks
from streamviz.live.presentation.text import age, exact, last_line, one_line, plural
from streamviz.records.moments import as_datetime

# A stream that has had no chunk for so long is called stalled.
STALLED_US = 5_000_000
# Sooner a hold is not shown on the Live page: rows would come and go with each tool call.
LASTING_US = 2_000_000
# Of which as much is shown as there is when each run of blanks is one.
TAIL_CHARACTERS = 320
# Of what a person is asked about a row has so much to show a call from.
ASKED_CHARACTERS = 4_000
_SUMMARY_CHARACTERS = 120
_NAME_CHARACTERS = 120


class VerdictView(msgspec.Struct, frozen=True, gc=False):
    """A policy's verdict on a block, or on the request or the stream as a whole (`ordinal` is None then).

    `by` names the person who decided by hand; `client_had` is how much of the block the client had (characters).
    `evidence` says what was found and where, never the thing itself.
    """

    number: int
    ordinal: int | None
    block_name: str
    policy: str
    version: int
    mode: str
    decision: Decision
    reason: str
    failure: str
    at: int
    took: int
    by: str = ""
    client_had: int = 0
    evidence: str = ""

    @property
    def mark(self) -> marks.DecisionMark:
        return marks.DECISIONS[self.decision]

    @property
    def is_shadow(self) -> bool:
        return self.mode == "shadow"

    @property
    def word(self) -> str:
        return f"would {self.mark.word}" if self.is_shadow else self.mark.word

    @property
    def intervenes(self) -> bool:
        """Whether it changed what the client got, or would have."""
        return self.decision is not Decision.ALLOW

    @property
    def at_ms(self) -> int:
        return self.at // 1000

    @property
    def at_text(self) -> str:
        return f"{as_datetime(self.at):%Y-%m-%d %H:%M:%S} UTC"

    @property
    def took_text(self) -> str:
        return exact(self.took)


class BlockView(msgspec.Struct, frozen=True, gc=False):
    """A block, where it stands, and what was decided about it."""

    ordinal: int
    kind: BlockKind
    name: str
    choice: int
    text: str
    length: int
    stream_started_at: int
    started_at: int
    completed_at: int | None
    first_seq: int
    last_seq: int
    state: str
    """arriving, held, waiting (behind a held one), sent, replaced, never sent"""
    held_at: int | None = None
    released_at: int | None = None
    held_by: tuple[str, ...] = ()
    hold_reason: str = ""
    decided_at: int | None = None
    """When it is decided without an answer of the model or the person that is asked."""
    waits_for_person: bool = False
    asked_by: str = ""
    """The policy that would not allow it, where a person is asked."""
    asked_at: int = 0
    otherwise: Decision | None = None
    """What it comes to when that person does not answer."""
    is_truncated: bool = False
    is_stream_over: bool = False
    verdict: VerdictView | None = None
    """The one that decides how the block is marked."""
    upstream_id: str = ""
    as_of: int | None = None
    """The moment that is shown, where that is over."""

    @property
    def mark(self) -> marks.KindMark:
        return marks.KINDS[self.kind]

    @property
    def title(self) -> str:
        return title_of(self.kind, self.name)

    @property
    def is_tool_call(self) -> bool:
        return self.kind is BlockKind.TOOL_CALL

    @property
    def is_thinking(self) -> bool:
        return self.kind is BlockKind.THINKING

    @property
    def is_held(self) -> bool:
        return self.state == "held"

    @property
    def is_denied(self) -> bool:
        return self.state == "never sent"

    @property
    def is_arriving(self) -> bool:
        return self.completed_at is None and not self.is_stream_over

    @property
    def held_since_ms(self) -> int:
        return (self.held_at or 0) // 1000

    @property
    def held_so_far(self) -> int:
        """How long it had been held at the moment that is shown (µs)."""
        return 0 if self.as_of is None or self.held_at is None else self.as_of - self.held_at

    @property
    def decided_in(self) -> int:
        """How long the person who is asked has in all (seconds)."""
        return max(1, ((self.decided_at or 0) - self.asked_at) // 1_000_000)

    def left(self, now: int) -> int:
        """How long they still have (seconds)."""
        return max(0, ((self.decided_at or 0) - now) // 1_000_000)

    @property
    def decided_at_ms(self) -> int | None:
        return None if self.decided_at is None else self.decided_at // 1000

    @property
    def hold_ended_at(self) -> int | None:
        """When it was let go, or denied; None while it is held, and where it never was."""
        if self.is_held:
            return None  # others have judged it already, one is still to
        if self.released_at is None and self.held_at is not None and self.verdict is not None:
            return self.verdict.at
        return self.released_at if self.held_at is not None else None

    @property
    def hold(self) -> int | None:
        """How long it was held (µs), where it was and no longer is."""
        ended_at = self.hold_ended_at
        return None if ended_at is None or self.held_at is None else ended_at - self.held_at

    @property
    def steps(self) -> str:
        """Its transitions: started → completed · what became of it."""
        start = (self.started_at - self.stream_started_at) / 1_000_000
        if self.completed_at is None:
            return f"{start:.2f} s → {self._unfinished}" + ("" if self.state == "arriving" else f" · {self.state}")
        end = (self.completed_at - self.stream_started_at) / 1_000_000
        late = f" +{self.hold / 1_000_000:.2f}" if self.hold and self.state == "sent" else ""
        cut = " · truncated" if self.is_truncated else ""
        return f"{start:.2f} → {end:.2f} s · {self.state}{late}{cut}"

    @property
    def _unfinished(self) -> str:
        return "cut off" if self.is_stream_over else "arriving"

    @property
    def size(self) -> str:
        """How much of it there is, and how long it took to come."""
        unit = "byte" if self.is_tool_call else "character"
        size = plural(self.length, unit)
        if self.completed_at is None:
            return f"{size}, {self._unfinished}"
        held = f" · held {exact(self.hold)}" if self.hold else ""
        return f"{size}, {age(self.completed_at - self.started_at)}{held}"

    @property
    def summary(self) -> str:
        return one_line(self.text, _SUMMARY_CHARACTERS)


class StreamView(msgspec.Struct, frozen=True, dict=True):
    """A stream. `received_at` has one time a chunk; `passed_seqs` and `passed_at` the chunks that the client was sent
    as they came, in order, and when, `made_at` the times of the frames that are no chunk. `sending_since` is set while
    the client's socket is full.
    """

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
    """From when to when the client took nothing of what it was sent; None: it still does not."""
    sending_since: int | None = None
    not_run: Sequence[NotRun] = ()
    """The policies that did not judge it, and why."""
    left_out: str = ""
    """What its provider could not take of the request, by name."""
    status: int | None = None
    """Of the answer that the client got, as HTTP has it."""
    client_finish: str | None = None
    """Why the answer ended as the client had it, where that is known."""
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
        """The id by which its client knows the session; the beginning of ours where it told none."""
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
        """Whether the client has not taken what it was sent, and for long enough to call that the stall's cause."""
        return self.sending_since is not None and now - self.sending_since > STALLED_US

    def state(self, now: int) -> marks.StateMark:
        """Where it stands at the time `now`."""
        return self._held_state(bool(self.held), now)

    def settled_state(self, now: int) -> marks.StateMark:
        """The same, with no hold that may be over in a moment: most tool calls are held only while they arrive."""
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
        """The end of the output: of the newest block that has any."""
        for block in reversed(self.blocks):
            if block.length:
                return tail_line(block.kind, block.name, block.text)
        return ""

    def since_start(self, at: int | None) -> int | None:
        """How long after the request something was (µs)."""
        return None if at is None else at - self.requested_at


def has_lasted(since: int, waits_for_person: bool, now: int) -> bool:
    """Whether a hold is more than the moment in which a tool call arrives, so that somebody should look at it."""
    return waits_for_person or now - since >= LASTING_US


def is_lasting(hold: Hold, now: int) -> bool:
    """Whether this is such a hold, and is not over."""
    return hold.ended_at is None and has_lasted(hold.since, hold.asks is not None, now)


def title_of(kind: BlockKind, name: str) -> str:
    """What a block is called: a name is a model's word, and can be as long as it likes."""
    return one_line(name, _NAME_CHARACTERS) or marks.KINDS[kind].word


def tail_line(kind: BlockKind, name: str, text: str) -> str:
    """The end of a block's text on one line, of a tool call after its name."""
    line = last_line(text, TAIL_CHARACTERS // 2)
    return f"{title_of(kind, name)} {line}" if kind is BlockKind.TOOL_CALL else line
