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
from streamviz.events.reports import Asked, Closed, Held, Judged, Opened, Report

Role = Literal["developer", "system", "assistant", "user"]
_ROLES: dict[str, Role] = {"developer": "developer", "system": "system", "assistant": "assistant"}
# Larger numbers do not survive JSON exactly.
_LARGEST = 2**53 - 1
_encoder = EventEncoder()


class Run:
    """One stream. `tell` gives the events for what happened, in order; each report takes the same time, however many
    came before it."""

    def __init__(self) -> None:
        self._run_id = self._thread_id = ""
        self._told: dict[int, BlockTeller] = {}
        self._parents: dict[int, str] = {}
        self._call_ids: set[str] = set()

    def tell(self, at: int, report: Report) -> Events:
        """The events for a report; `at` is when it happened (µs since the epoch)."""
        events = self._events(report)
        for event in events:
            event.timestamp = at // 1000
        return events

    def _events(self, report: Report) -> Events:
        match report:
            case BlockDelta():
                return self._told[report.ordinal].grow(report) if report.ordinal in self._told else []
            case BlockStarted():
                told = self._told[report.ordinal] = self._new(report)
                return told.start()
            case BlockSealed():
                return self._end(report.ordinal)
            case BlockCompleted() | StreamFinished():
                return []
            case Opened():
                return [self._open(report)]
            case Asked():
                return self._ask(report)
            case Closed():
                return self._close(report)
            case _:
                return [_custom(report)]

    def _open(self, opened: Opened) -> BaseEvent:
        self._run_id, self._thread_id = str(opened.stream_id), str(opened.session_id)
        parent = None if opened.parent is None else str(opened.parent)
        return RunStartedEvent(thread_id=self._thread_id, run_id=self._run_id, parent_run_id=parent)

    def _ask(self, asked: Asked) -> Events:
        events = self._part(asked)
        if asked.is_cut:
            events[0].metadata = {"isCut": True}
        return events

    def _part(self, part: Asked) -> Events:
        id = f"{self._run_id}-asked-{part.number}"
        match part.kind:
            case PartKind.TOOL_RESULT:
                return [ToolCallResultEvent(message_id=id, tool_call_id=part.call_id, content=part.text, role="tool")]
            case PartKind.TEXT:
                role = _ROLES.get(part.role, "user")
                return [
                    TextMessageStartEvent(message_id=id, role=role),
                    *(TextMessageContentEvent(message_id=id, delta=piece) for piece in pieces(part.text)),
                    TextMessageEndEvent(message_id=id),
                ]
            case _:
                return [custom("asked", kind=part.kind, role=part.role, name=part.name, text=part.text, size=part.size)]

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

    def _close(self, end: Closed) -> Events:
        events = [event for ordinal in list(self._told) for event in self._end(ordinal)]
        usage = [_usage(end)]
        if end.outcome not in (Outcome.COMPLETED, Outcome.CLIENT_DISCONNECTED):
            message = end.error or f"The stream ended: {end.outcome.replace('_', ' ')}."
            return [*events, RunErrorEvent(message=message, code=end.outcome, usage=usage)]
        is_whole = end.outcome == Outcome.COMPLETED
        outcome = RunFinishedSuccessOutcome() if is_whole else RunFinishedCancelledOutcome()
        result = {"outcome": end.outcome, "finishReason": end.finish_reason, "cost": end.cost, "error": end.error}
        return [
            *events,
            RunFinishedEvent(
                thread_id=self._thread_id, run_id=self._run_id, result=result, outcome=outcome, usage=usage
            ),
        ]


def _custom(report: Judged | Held | UsageUpdated | StreamFailed) -> BaseEvent:
    match report:
        case Judged():
            return custom(
                "verdict",
                number=report.number,
                block=report.ordinal,
                subject=report.subject,
                policy=report.policy,
                version=report.version,
                mode=report.mode,
                decision=report.decision,
                reason=report.reason,
                failure=report.failure,
                by=report.by,
            )
        case Held():
            return custom("hold", block=report.ordinal, policies=list(report.policies))
        case UsageUpdated():
            return custom("usage", usage=report.usage, tier=report.tier)
        case StreamFailed():
            return custom("failure", message=report.message, kind=report.kind, code=report.code)


def _usage(end: Closed) -> TokenUsage:
    return TokenUsage(
        provider=end.provider or None,
        model=end.upstream_model or None,
        input_tokens=_count(end.input_tokens),
        output_tokens=_count(end.output_tokens),
        reasoning_tokens=_count(end.reasoning_tokens),
        cached_input_tokens=_count(end.cache_read_tokens),
        cache_write_input_tokens=_count(end.cache_written_tokens),
    )


def _count(tokens: int | None) -> int | None:
    return tokens if tokens is not None and 0 <= tokens <= _LARGEST else None


def sse(event_id: str, event: BaseEvent) -> bytes:
    """An event as it is sent."""
    return f"id: {event_id}\n{_encoder.encode(event)}".encode()
