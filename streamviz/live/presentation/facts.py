"""The figures at the head of a stream's page."""

from typing import NamedTuple

from streamviz.core.tokens import Tokens
from streamviz.core.usage import CHARACTERS_A_TOKEN
from streamviz.live.presentation.durations import age, exact, lasted
from streamviz.live.presentation.figures import UNKNOWN, about, count, money
from streamviz.live.presentation.text import one_line
from streamviz.live.presentation.views import StreamView
from streamviz.records.moments import as_datetime


class Fact(NamedTuple):
    """A figure with its name and a note. In ms since the epoch: `since_ms`, from when it keeps growing, and `at_ms`,
    the time that it is, which a script shows in the reader's time zone."""

    name: str
    value: str
    note: str = ""
    since_ms: int | None = None
    at_ms: int | None = None


def facts_of(stream: StreamView, now: int) -> list[Fact]:
    """What is known of a stream; unknown figures are a dash, never 0."""
    return [
        Fact("Model", stream.model, _upstream(stream)),
        Fact("Key", one_line(stream.key_name, 100) or UNKNOWN),
        Fact("Started", f"{as_datetime(stream.requested_at):%d %b %H:%M:%S} UTC", at_ms=stream.requested_at // 1000),
        *([] if stream.status is None else [Fact("HTTP", str(stream.status), stream.endpoint)]),
        Fact("TTFT upstream", exact(stream.since_start(stream.upstream_first_at))),
        Fact("TTFT client", exact(stream.since_start(stream.client_first_at))),
        _duration(stream, now),
        Fact("ITL p50", exact(stream.itl_p50)),
        Fact("ITL p95", exact(stream.itl_p95)),
        *([Fact("Tokens, cost", UNKNOWN, "those of its calls")] if stream.executor else _spent(stream)),
        *_finish(stream),
        *([Fact("Executor", one_line(stream.executor, 60))] if stream.executor else ()),
        *([Fact("Part", one_line(stream.part, 60), "of a run")] if stream.part else ()),
        *([Fact("Left out", stream.left_out, "had no place")] if stream.left_out else ()),
    ]


def _finish(stream: StreamView) -> list[Fact]:
    """Why the answer ended, if the client was told something else than upstream said."""
    said, had = one_line(stream.finish_reason, 100), one_line(stream.client_finish or "", 100)
    return [] if stream.client_finish is None or said == had else [Fact("Finish", had or UNKNOWN, f"upstream: {said}")]


def _upstream(stream: StreamView) -> str:
    model = one_line(stream.upstream_model, 100)
    shown = "" if model == stream.model else model
    return " · ".join(word for word in (shown, one_line(stream.provider, 60)) if word)


def _duration(stream: StreamView, now: int) -> Fact:
    if stream.is_running:
        return Fact("Duration", age(now - stream.requested_at), "running", stream.requested_at // 1000)
    return Fact("Duration", lasted(stream.since_start(stream.ended_at)))


def _spent(stream: StreamView) -> list[Fact]:
    return [*_tokens(stream), _cost(stream)]


def _tokens(stream: StreamView) -> list[Fact]:
    """The tokens used, and how many of them were read from a cache, written to one, or thinking."""
    tokens = _so_far(stream)
    if tokens.output is None and tokens.input is None:
        return [Fact("Tokens", UNKNOWN, "not reported yet" if stream.is_running else "not reported")]
    if tokens.input is None:
        return [Fact("Tokens", about(count(tokens.output), tokens.is_estimated), "out, estimated")]
    asked = about(count(tokens.input), stream.tokens.is_estimated)
    return [Fact("Tokens", about(count(tokens.output), tokens.is_estimated), f"out, {asked} in"), *_parts(tokens)]


def _so_far(stream: StreamView) -> Tokens:
    """Until the provider has reported all of the output, estimate it from the number of characters."""
    tokens = stream.tokens
    if tokens.output is not None and (stream.finish_reason or not stream.is_running):
        return tokens
    estimate = sum(block.length for block in stream.blocks) // CHARACTERS_A_TOKEN
    return tokens._replace(output=estimate, is_estimated=True) if estimate > (tokens.output or 0) else tokens


def _parts(tokens: Tokens) -> list[Fact]:
    """The tokens that are billed differently; empty if none are."""
    parts = (("cached", tokens.cache_read), ("written", tokens.cache_written), ("thinking", tokens.reasoning))
    first, *others = [f"{count(number)} {name}" for name, number in parts if number] or [""]
    return [Fact("Of these", first, ", ".join(others))] if first else []


def _cost(stream: StreamView) -> Fact:
    if stream.is_running and stream.cost is None:
        return Fact("Cost", UNKNOWN, "not known yet")
    return Fact("Cost", about(money(stream.cost), stream.tokens.is_estimated))
