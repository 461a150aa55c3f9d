"""The steps of a simulated answer, independent of any wire format."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import msgspec

FinishReason = Literal["stop", "length", "tool_calls", "refusal"]
SpeechKind = Literal["thinking", "content", "refusal"]
TOKENS_OF_A_WHOLE_CALL = 20


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the model does, `delay` seconds after the step before it."""

    delay: float = 0.0


class Speech(Step, frozen=True, gc=False):
    """A piece of running text."""

    kind: ClassVar[SpeechKind]
    text: str


class Thinking(Speech, frozen=True, gc=False):
    """A piece of the model's thinking."""

    kind = "thinking"


class Content(Speech, frozen=True, gc=False):
    """A piece of the answer's text."""

    kind = "content"


class Refusal(Speech, frozen=True, gc=False):
    """A piece of a refusal."""

    kind = "refusal"


class ToolStart(Step, frozen=True):
    """Tool call number `call` begins."""

    call: int
    name: str


class ToolPiece(Step, frozen=True):
    """A piece of the argument JSON of tool call number `call`."""

    call: int
    arguments: str


class ToolEnd(Step, frozen=True):
    """Tool call number `call` is complete. Not every format says so."""

    call: int


class WholeTools(Step, frozen=True):
    """Several tool calls at once, each with its name and all of its arguments."""

    calls: tuple[tuple[int, str, str], ...]


class Pause(Step, frozen=True):
    """Nothing is sent for `delay` seconds."""


class Garbage(Step, frozen=True):
    """An event whose data is not JSON."""


class Fail(Step, frozen=True):
    """The provider reports an error in the middle of the answer and closes."""

    message: str


class Cut(Step, frozen=True):
    """The connection is dropped in the middle of the answer, with no end of the HTTP body."""


class Finish(Step, frozen=True):
    """The answer ends, and the provider says why."""

    reason: FinishReason


class Script(msgspec.Struct, frozen=True):
    """A whole answer: what is sent, in order, and how many tokens it is said to have used."""

    steps: tuple[Step, ...]
    input_tokens: int
    usage_always: bool = False
    empty_content_beside_tools: bool = False

    @property
    def thinking_tokens(self) -> int:
        """How many tokens of thinking there are: one per step."""
        return sum(isinstance(step, Thinking) for step in self.steps)

    @property
    def output_tokens(self) -> int:
        """How many tokens the answer has in all, including thinking: one per step that says something."""
        spoken = (Speech, ToolStart, ToolPiece)
        at_once = sum(len(step.calls) for step in self.steps if isinstance(step, WholeTools))
        return sum(isinstance(step, spoken) for step in self.steps) + at_once * TOKENS_OF_A_WHOLE_CALL

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the answer ends; None if it never says."""
        return next((step.reason for step in self.steps if isinstance(step, Finish)), None)


class Part(msgspec.Struct, frozen=True):
    """A contiguous piece of a whole answer. If `kind` is "tool", `text` is the call's argument JSON."""

    kind: SpeechKind | Literal["tool"]
    text: str
    name: str = ""
    call: int = -1


def fold(steps: Sequence[Step]) -> list[Part]:
    """The parts of the whole answer that these steps send piece by piece, in the order of their first pieces."""
    parts: list[tuple[Part, list[str]]] = []
    calls: dict[int, list[str]] = {}
    for step in steps:
        match step:
            case Speech(text):
                _append_text(parts, step.kind, text)
            case ToolStart(call, name):
                calls[call] = []
                parts.append((Part("tool", "", name, call), calls[call]))
            case ToolPiece(call, arguments):
                calls[call].append(arguments)
            case WholeTools(whole):
                parts.extend((Part("tool", "", name, call), [arguments]) for call, name, arguments in whole)
            case _:
                pass
    return [msgspec.structs.replace(part, text="".join(texts)) for part, texts in parts]


def _append_text(parts: list[tuple[Part, list[str]]], kind: SpeechKind, text: str) -> None:
    if not parts or parts[-1][0].kind != kind:
        parts.append((Part(kind, ""), []))
    parts[-1][1].append(text)


def one_call_at_a_time(steps: Sequence[Step]) -> list[Step]:
    """The same steps with interleaved tool calls put one after another; the delays stay where they were."""
    ordered: list[Step] = []
    run: list[ToolStart | ToolPiece | ToolEnd] = []
    for step in steps:
        if isinstance(step, (ToolStart, ToolPiece, ToolEnd)):
            run.append(step)
            continue
        ordered += _sorted_by_call(run)
        ordered.append(step)
        run = []
    return ordered + _sorted_by_call(run)


def _sorted_by_call(run: list[ToolStart | ToolPiece | ToolEnd]) -> list[Step]:
    delays = [step.delay for step in run]
    by_call = sorted(run, key=lambda step: step.call)
    return [msgspec.structs.replace(step, delay=delay) for step, delay in zip(by_call, delays, strict=True)]


class ConnectionCut(Exception):
    """The script drops the connection here."""


def timeline(steps: Sequence[Step]) -> Iterator[tuple[float, Step]]:
    """Each step that sends something, with the seconds since the one before. Raises ConnectionCut at a Cut."""
    waited = 0.0
    for step in steps:
        waited += step.delay
        if isinstance(step, Cut):
            raise ConnectionCut
        if not isinstance(step, Pause):
            yield waited, step
            waited = 0.0
