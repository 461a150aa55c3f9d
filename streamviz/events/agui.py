"""A stream as a run in AG-UI's vocabulary; https://docs.ag-ui.com defines each event.

The thread is the session, the run is the stream. Each text is a message of its own, and a tool call belongs to the last
text begun in its choice. What the protocol has no event for is a CUSTOM event whose name begins with `streamviz.`.
"""

from typing import Literal

from ag_ui.core.events import (
    BaseEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallResultEvent,
)
from ag_ui.encoder import EventEncoder

from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.outcome import Outcome
from streamviz.core.request_parts import PartKind
from streamviz.events.agui_blocks import BlockTeller, Events, Media, Other, Reasoning, Text, ToolCall, custom, pieces
from streamviz.events.facts import Asked, Closed, Fact, Held, Judged, Opened

Role = Literal["developer", "system", "assistant", "user"]
_ROLES: dict[str, Role] = {"developer": "developer", "system": "system", "assistant": "assistant"}
# Larger numbers do not survive JSON exactly.
_LARGEST = 2**53 - 1
_encoder = EventEncoder()


class Run:
    """One stream. `tell` gives the events for what happened, in order; each fact takes the same time, however many came
    before it."""

    def __init__(self) -> None:
        self._run_id = self._thread_id = ""
        self._told: dict[int, BlockTeller] = {}
        self._parents: dict[int, str] = {}
        self._call_ids: set[str] = set()

    def tell(self, at: int, fact: Fact) -> Events:
        """The events for a fact; `at` is when it happened (µs since the epoch)."""
        events = self._events(fact)
        for event in events:
            event.timestamp = at // 1000
        return events

    def _events(self, fact: Fact) -> Events:
        match fact:
            case BlockDelta():
                return self._told[fact.ordinal].grow(fact) if fact.ordinal in self._told else []
            case BlockStarted():
                told = self._told[fact.ordinal] = self._new(fact)
                return told.start()
            case BlockSealed():
                return self._end(fact.ordinal)
            case BlockCompleted() | StreamFinished():
                return []
            case Opened():
                return [self._open(fact)]
            case Asked():
                return self._ask(fact)
            case Closed():
                return self._close(fact)
            case _:
                return [_custom(fact)]

    def _open(self, fact: Opened) -> BaseEvent:
        self._run_id, self._thread_id = str(fact.stream_id), str(fact.session_id)
        parent = None if fact.parent is None else str(fact.parent)
        return RunStartedEvent(thread_id=self._thread_id, run_id=self._run_id, parent_run_id=parent)

    def _ask(self, fact: Asked) -> Events:
        events = self._part(fact)
        if fact.is_cut:
            events[0].metadata = {"isCut": True}
        return events

    def _part(self, fact: Asked) -> Events:
        id = f"{self._run_id}-asked-{fact.number}"
        match fact.kind:
            case PartKind.TOOL_RESULT:
                return [ToolCallResultEvent(message_id=id, tool_call_id=fact.call_id, content=fact.text, role="tool")]
            case PartKind.TEXT:
                role = _ROLES.get(fact.role, "user")
                return [
                    TextMessageStartEvent(message_id=id, role=role),
                    *(TextMessageContentEvent(message_id=id, delta=piece) for piece in pieces(fact.text)),
                    TextMessageEndEvent(message_id=id),
                ]
            case _:
                return [custom("asked", kind=fact.kind, role=fact.role, name=fact.name, text=fact.text, size=fact.size)]

    def _new(self, started: BlockStarted) -> BlockTeller:
        id = f"{self._run_id}-{started.ordinal}"
        match started.kind:
            case BlockKind.CONTENT | BlockKind.REFUSAL:
                self._parents[started.choice] = id
                return Text(id, is_refusal=started.kind is BlockKind.REFUSAL)
            case BlockKind.THINKING:
                return Reasoning(id)
            case BlockKind.TOOL_CALL:
                parent = self._parents.setdefault(started.choice, id)
                return ToolCall(started, parent, self._call_ids, f"call-{id}")
            case BlockKind.MEDIA:
                return Media(started, id)
            case _:
                return Other(started, id)

    def _end(self, ordinal: int) -> Events:
        told = self._told.pop(ordinal, None)
        return [] if told is None else told.end()

    def _close(self, fact: Closed) -> Events:
        events = [event for ordinal in list(self._told) for event in self._end(ordinal)]
        usage = [_usage(fact)]
        if fact.outcome not in (Outcome.COMPLETED, Outcome.CLIENT_DISCONNECTED):
            message = fact.error or f"The stream ended: {fact.outcome.replace('_', ' ')}."
            return [*events, RunErrorEvent(message=message, code=fact.outcome, usage=usage)]
        is_whole = fact.outcome == Outcome.COMPLETED
        outcome = RunFinishedSuccessOutcome() if is_whole else RunFinishedCancelledOutcome()
        result = {"outcome": fact.outcome, "finishReason": fact.finish_reason, "cost": fact.cost, "error": fact.error}
        return [
            *events,
            RunFinishedEvent(
                thread_id=self._thread_id, run_id=self._run_id, result=result, outcome=outcome, usage=usage
            ),
        ]


def _custom(fact: Judged | Held | UsageUpdated | StreamFailed) -> BaseEvent:
    match fact:
        case Judged():
            return custom(
                "verdict",
                number=fact.number,
                block=fact.ordinal,
                subject=fact.subject,
                policy=fact.policy,
                version=fact.version,
                mode=fact.mode,
                decision=fact.decision,
                reason=fact.reason,
                failure=fact.failure,
                by=fact.by,
            )
        case Held():
            return custom("hold", block=fact.ordinal, policies=list(fact.policies))
        case UsageUpdated():
            return custom("usage", usage=fact.usage, tier=fact.tier)
        case StreamFailed():
            return custom("failure", message=fact.message, kind=fact.kind, code=fact.code)


def _usage(fact: Closed) -> TokenUsage:
    return TokenUsage(
        provider=fact.provider or None,
        model=fact.upstream_model or None,
        input_tokens=_count(fact.input_tokens),
        output_tokens=_count(fact.output_tokens),
        reasoning_tokens=_count(fact.reasoning_tokens),
        cached_input_tokens=_count(fact.cache_read_tokens),
        cache_write_input_tokens=_count(fact.cache_written_tokens),
    )


def _count(tokens: int | None) -> int | None:
    return tokens if tokens is not None and 0 <= tokens <= _LARGEST else None


def sse(event_id: str, event: BaseEvent) -> bytes:
    """An event as it is sent."""
    return f"id: {event_id}\n{_encoder.encode(event)}".encode()
