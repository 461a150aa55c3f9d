"""The figures at the head of a stream's page."""

from typing import NamedTuple

from streamviz.core.usage import CHARACTERS_A_TOKEN
from streamviz.live.presentation.text import UNKNOWN, age, count, exact, money, one_line
from streamviz.live.presentation.views import StreamView


class Fact(NamedTuple):
    """A figure with its name and a note. `since_ms`: it still grows, from this moment on (ms since the epoch)."""

    name: str
    value: str
    note: str = ""
    since_ms: int | None = None


def facts_of(stream: StreamView, now: int) -> list[Fact]:
    """What is known of a stream; what is not is a dash, never 0."""
    return [
        Fact("Model", stream.model, _upstream(stream)),
        Fact("Key", one_line(stream.key_name, 100) or UNKNOWN),
        Fact("TTFT upstream", exact(stream.since_start(stream.upstream_first_at))),
        Fact("TTFT client", exact(stream.since_start(stream.client_first_at))),
        _duration(stream, now),
        Fact("ITL p50", exact(stream.itl_p50)),
        Fact("ITL p95", exact(stream.itl_p95)),
        _tokens(stream),
        Fact("Cost", money(stream.cost), "not known yet" if stream.is_running and stream.cost is None else ""),
    ]


def _upstream(stream: StreamView) -> str:
    model = one_line(stream.upstream_model, 100)
    shown = "" if model == stream.model else model
    return " · ".join(word for word in (shown, one_line(stream.provider, 60)) if word)


def _duration(stream: StreamView, now: int) -> Fact:
    if stream.is_running:
        return Fact("Duration", age(now - stream.requested_at), "running", stream.requested_at // 1000)
    return Fact("Duration", age(stream.since_start(stream.ended_at)))


def _tokens(stream: StreamView) -> Fact:
    if stream.output_tokens is None and stream.input_tokens is None:
        if estimate := sum(block.length for block in stream.blocks) // CHARACTERS_A_TOKEN:
            return Fact("Tokens", f"≈ {count(estimate)}", "out, estimated")
        return Fact("Tokens", UNKNOWN, "not reported yet" if stream.is_running else "not reported")
    return Fact("Tokens", count(stream.output_tokens), f"out, {count(stream.input_tokens)} in")
