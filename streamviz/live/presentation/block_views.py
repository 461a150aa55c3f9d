"""What the pages show of blocks and of verdicts. Times are µs since the epoch; None is unknown."""

import msgspec

from streamviz.core.events import BlockKind
from streamviz.core.json_value import has_more_values
from streamviz.core.media import media_within
from streamviz.core.medium import Medium
from streamviz.core.sounds import media_in
from streamviz.core.verdicts import Decision
from streamviz.live.presentation import marks
from streamviz.live.presentation.durations import exact, lasted
from streamviz.live.presentation.figures import byte_size, plural
from streamviz.live.presentation.text import last_line, one_line
from streamviz.records.moments import as_datetime

# How much of a text's end is read; half of it is shown, with each run of blanks as one.
TAIL_CHARACTERS = 320
_SUMMARY_CHARACTERS = 120
_NAME_CHARACTERS = 120
# The longest payload other than text that is read, in characters.
_MOST_READ = 4_000_000
# How many values a payload may have if images may be anywhere in it, as each value is looked at.
_MOST_VALUES = 5_000


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
    def intervened(self) -> bool:
        """Whether it changed what the client got."""
        return self.intervenes and not self.is_shadow

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
    """A block, its state, and what was decided about it."""

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
    """When it is decided even if the model or the person that is asked has not answered."""
    waits_for_person: bool = False
    asks: int | None = None
    """The number of the question that a person is asked."""
    asked_by: str = ""
    """The policy that would not allow it, if a person is asked."""
    asked_at: int = 0
    otherwise: Decision | None = None
    """The decision if that person does not answer."""
    is_truncated: bool = False
    is_stream_over: bool = False
    verdict: VerdictView | None = None
    """The one that decides how the block is marked."""
    upstream_id: str = ""
    instead: str = ""
    """What the client got in its place, if the tapes of a finished stream were read."""
    as_of: int | None = None
    """The moment that is shown, if it is a past one."""

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
    def media(self) -> list[str]:
        """What each image or sound in the block is, and how large; nothing of what is in them. Blocks of kind `other`
        may have some, too."""
        if self.kind is BlockKind.OTHER and not self.is_arriving and _may_be_walked(self.text):
            return list(map(_described, media_within(self.text)))
        return described(self.text) if self.kind is BlockKind.MEDIA else []

    @property
    def is_held(self) -> bool:
        return self.state == "held"

    @property
    def is_unsent(self) -> bool:
        """Whether the client never got it, whatever kept it back."""
        return self.state == "never sent"

    @property
    def is_sent_in_part(self) -> bool:
        """Whether the client only got its beginning, as a policy ended the stream there."""
        verdict = self.verdict
        if self.state != "sent" or verdict is None or verdict.is_shadow:
            return False
        return verdict.decision is Decision.HALT and verdict.client_had < self.length

    @property
    def kept_back(self) -> str:
        """How much of it the client got, in words; empty if it got all."""
        if self.is_unsent:
            return "never sent to the client"
        if self.verdict is None or not self.is_sent_in_part:
            return ""
        return f"{plural(self.verdict.client_had, 'character')} of it sent to the client"

    @property
    def is_denied(self) -> bool:
        """Whether a verdict kept it from the client. If the stream ended during a hold, none did."""
        verdict = self.verdict
        return self.is_unsent and verdict is not None and verdict.intervened

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
        """How long that person still has (seconds)."""
        return max(0, ((self.decided_at or 0) - now) // 1_000_000)

    @property
    def decided_at_ms(self) -> int | None:
        return None if self.decided_at is None else self.decided_at // 1000

    @property
    def hold_ended_at(self) -> int | None:
        """When it was released or denied; None while it is held, or if it never was."""
        if self.is_held:
            return None  # some policies have judged it, at least one has not
        if self.released_at is None and self.held_at is not None and self.verdict is not None:
            return self.verdict.at
        return self.released_at if self.held_at is not None else None

    @property
    def hold(self) -> int | None:
        """How long it was held (µs); None if it never was, or still is."""
        ended_at = self.hold_ended_at
        return None if ended_at is None or self.held_at is None else ended_at - self.held_at

    @property
    def steps(self) -> str:
        """Its transitions: started → completed · what became of it."""
        start = (self.started_at - self.stream_started_at) / 1_000_000
        if self.completed_at is None:
            return f"{start:.2f} s → {self._unfinished}" + ("" if self.state == "arriving" else f" · {self.state}")
        end = (self.completed_at - self.stream_started_at) / 1_000_000
        late = f" +{self.hold / 1_000_000:.2f} s" if self.hold and self.state == "sent" else ""
        cut = " · truncated" if self.is_truncated else ""
        part = " in part" if self.is_sent_in_part else ""
        return f"{start:.2f} → {end:.2f} s · {self.state}{part}{late}{cut}"

    @property
    def _unfinished(self) -> str:
        return "cut off" if self.is_stream_over else "arriving"

    @property
    def size(self) -> str:
        """How much of it there is, and how long it took to arrive."""
        size = plural(self.length, "character")
        if self.completed_at is None:
            return f"{size}, {self._unfinished}"
        held = f" · held {exact(self.hold)}" if self.hold else ""
        return f"{size}, {lasted(self.completed_at - self.started_at)}{held}"

    @property
    def summary(self) -> str:
        return one_line(self.text, _SUMMARY_CHARACTERS)


def _may_be_walked(payload: str) -> bool:
    return len(payload) <= _MOST_READ and not has_more_values(payload.encode(errors="replace"), _MOST_VALUES)


def described(payload: str) -> list[str]:
    """The images or sounds in a block's text: `image/png, 12.3 kB`, or with its address. A text that is too long to
    read gives only its size."""
    if len(payload) > _MOST_READ:
        return [byte_size(len(payload))]
    media = media_in(payload)
    finished = [medium for medium in media if not medium.is_preview]
    return [_described(medium) for medium in finished or media[-1:]]


def _described(medium: Medium) -> str:
    place = one_line(medium.address, _NAME_CHARACTERS) or byte_size(medium.size)
    state = ", not finished" if medium.is_preview else ""
    return f"{one_line(medium.type, _NAME_CHARACTERS) or 'type unknown'}, {place}{state}"


def title_of(kind: BlockKind, name: str) -> str:
    """A block's title. A name is the model's choice, and can be of any length."""
    return one_line(name, _NAME_CHARACTERS) or marks.KINDS[kind].word


def tail_line(kind: BlockKind, name: str, text: str) -> str:
    """The end of a block's text on one line; for a tool call, after its name."""
    if kind is BlockKind.MEDIA:
        return title_of(kind, name)
    line = last_line(text, TAIL_CHARACTERS // 2)
    return f"{title_of(kind, name)} {line}" if kind is BlockKind.TOOL_CALL else line
