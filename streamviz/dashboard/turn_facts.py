"""The figures of a session, and of the turn that is selected in it."""

from typing import NamedTuple

from streamviz.core.tokens import Tokens
from streamviz.core.wire import WIRE_FORMATS
from streamviz.dashboard.conversations import Turns
from streamviz.dashboard.queries import SessionRow, Spent
from streamviz.live.presentation.block_views import VerdictView
from streamviz.live.presentation.durations import exact, lasted
from streamviz.live.presentation.facts import Fact
from streamviz.live.presentation.figures import UNKNOWN, about, count, money, plural
from streamviz.live.presentation.text import one_line
from streamviz.live.presentation.views import StreamView
from streamviz.records.models import Session, Stream, Verdict
from streamviz.records.queries import streams

_SHOWN_VERDICTS = 20
_NAMED_MODELS = 3


def session_facts(session: Session, totals: SessionRow, turns: Turns) -> list[Fact]:
    """What is known of a session; unknown figures are a dash, never 0. The page itself says when it began."""
    newest = list(turns.records.values())[-1:]
    client = one_line(newest[0].user_agent, 60) if newest else ""
    models = [one_line(model, 80) for model in totals.models]
    return [
        Fact("Key", one_line(session.key.name, 100) if session.key else UNKNOWN),
        Fact("Client", client or UNKNOWN, _format(newest[0]) if newest else ""),
        Fact("Models", models[0] if models else UNKNOWN, _others(models[1:])),
        Fact("Duration", lasted(totals.duration), f"{lasted(_streaming(turns))} streaming"),
        Fact("Turns", count(len(turns.all)), _branches(turns, totals)),
        _tokens(totals.spent),
        _cost(totals.spent),
    ]


def _others(models: list[str]) -> str:
    if len(models) > _NAMED_MODELS:
        return f"{count(len(models))} more: {', '.join(models[:_NAMED_MODELS])} …"
    return ", ".join(f"+ {each}" for each in models)


def _tokens(spent: Spent) -> Fact:
    if spent.input_tokens is None and spent.output_tokens is None:
        return Fact("Tokens", UNKNOWN, "not reported")
    cached = f"{count(spent.cached_tokens)} cached, " if spent.cached_tokens else ""
    said = about(count(spent.output_tokens), spent.estimated)
    return Fact("Tokens", about(count(spent.input_tokens), spent.estimated), f"in, {cached}{said} out")


def _cost(spent: Spent) -> Fact:
    unknown = "no known price" if spent.cost is None else f"{spent.unpriced} unknown" if spent.unpriced else ""
    return Fact("Cost", about(money(spent.cost), spent.estimated), unknown)


def _streaming(turns: Turns) -> int:
    views = turns.views.values()
    return sum(view.ended_at - view.requested_at for view in views if view.ended_at is not None)


def _branches(turns: Turns, totals: SessionRow) -> str:
    notes = []
    for kind, words in (("subagent", "by sub-agents"), ("fork", "in forks"), ("step", "calls of runs")):
        if number := sum(len(line.turns) for line in turns.lines if line.kind == kind):
            notes.append(f"{number} {words}")
    if attempts := sum(len(turn.attempts) for turn in turns.all):
        notes.append(f"{attempts} retried")
    if totals.streams > len(turns.records):
        notes.append(f"of {totals.streams:,} on this page")
    return ", ".join(notes)


class TurnFact(NamedTuple):
    """A figure of a turn: one or more values, each with a note."""

    name: str
    values: list[tuple[str, str]]
    share: str = ""
    share_words: str = ""


class AboutTurn(NamedTuple):
    """What is shown about the selected turn, beside the conversation."""

    facts: list[TurnFact]
    verdicts: list[VerdictView]
    others: str


def turn_facts(record: Stream, stream: StreamView) -> AboutTurn:
    """The figures of a turn, the policies that acted on it, and how many other verdicts there were, in one query."""
    acted = [each for each in stream.verdicts if each.intervenes or each.by or each.failure]
    allowed = Verdict.objects.filter(streams.only_allowed(), stream=record).count()
    others = [f"{plural(allowed, 'other verdict')} allowed"] if allowed else []
    if not_run := len(stream.not_run):
        others.append(f"{not_run} {'policy' if not_run == 1 else 'policies'} did not run")
    if len(acted) > _SHOWN_VERDICTS:
        others.append(f"{len(acted) - _SHOWN_VERDICTS} more on the stream’s page")
    return AboutTurn(_facts(record, stream), acted[:_SHOWN_VERDICTS], " · ".join(others))


def _facts(record: Stream, stream: StreamView) -> list[TurnFact]:
    tokens = stream.tokens
    upstream, client = (stream.since_start(at) for at in (stream.upstream_first_at, stream.client_first_at))
    held = sum(block.hold or 0 for block in stream.blocks)
    later = "" if upstream is None or client is None else f"client, {exact(max(0, client - upstream))} later"
    called = one_line(stream.upstream_model, 80)
    status = UNKNOWN if record.status is None else str(record.status)
    return [
        TurnFact("Model", [(one_line(stream.model, 80), "" if called == stream.model else called)]),
        TurnFact("HTTP", [(status, _format(record))]),
        TurnFact("TTFT", [(exact(upstream), "upstream"), (exact(client), later or "client")]),
        TurnFact("Duration", [(lasted(stream.since_start(stream.ended_at)), f"held {exact(held)}" if held else "")]),
        TurnFact("ITL", [(exact(stream.itl_p50), "p50"), (exact(stream.itl_p95), "p95")]),
        *(_spent_by_calls() if stream.executor else _spent(stream, tokens)),
        TurnFact("Finish", [(one_line(stream.finish_reason, 60) or UNKNOWN, _outcome(stream))]),
    ]


def _spent(stream: StreamView, tokens: Tokens) -> list[TurnFact]:
    return [
        _input(tokens),
        TurnFact("Tokens out", [(about(count(tokens.output), tokens.is_estimated), _output_note(tokens))]),
        TurnFact("Cost", [(about(money(stream.cost), tokens.is_estimated), "")]),
    ]


def _spent_by_calls() -> list[TurnFact]:
    return [TurnFact("Tokens, cost", [(UNKNOWN, "those of its calls")])]


def _input(tokens: Tokens) -> TurnFact:
    whole, read, written = tokens.input, tokens.cache_read, tokens.cache_written
    if not whole or not (read or written):
        return TurnFact("Tokens in", [(about(count(whole), tokens.is_estimated), "")])
    read, written = read or 0, written or 0
    notes = [f"{count(read)} cached", f"{count(max(0, whole - read))} new"]
    if written:
        notes.append(f"{count(written)} written to the cache")
    share = f"{min(100.0, 100 * read / whole):.1f}%"
    words = f"{count(read)} of {count(whole)} tokens from the cache"
    return TurnFact("Tokens in", [(count(whole), ", ".join(notes))], share, words)


def _output_note(tokens: Tokens) -> str:
    return f"{count(tokens.reasoning)} thinking" if tokens.reasoning else ""


def _outcome(stream: StreamView) -> str:
    return "running" if stream.is_running else stream.outcome.replace("_", " ")


def _format(record: Stream) -> str:
    known = WIRE_FORMATS.get(record.wire_format)
    return known.title if known else one_line(record.wire_format, 40)
