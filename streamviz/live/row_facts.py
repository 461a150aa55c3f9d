"""What filters match in a row of the Live page, and its place in its group."""

from streamviz.live.filter_terms import Facts
from streamviz.live.filters import Filter
from streamviz.live.presentation import marks
from streamviz.live.presentation.rows import RowView
from streamviz.live.presentation.views import StreamView

_WORD_CHARACTERS = 300  # the length of the longest filter
_MOST_TOOLS = 50
_STATES = (marks.ASKS, marks.HELD, marks.STALLED, marks.RUNNING, *marks.OUTCOMES.values())
# What the fields that are matched whole can have, in lower case.
_KNOWN = {
    "state": (*(mark.word for mark in _STATES), "finished"),
    "verdict": tuple(word for mark in marks.DECISIONS.values() for word in (mark.word, f"would {mark.word}")),
}


def unknown_values(wanted: Filter) -> list[str]:
    """Messages about terms that no stream can ever match."""
    known = [(term, _KNOWN[term.field]) for term in wanted.terms if term.field in _KNOWN]
    return [
        f"{term.source} must be one of {', '.join(words)}"
        for term, words in known
        if not term.holds(Facts(state=words, verdict=words))
    ]


def order_of(row: RowView) -> int:
    """Rows that ask a person are sorted by the time left, held and stalled ones by how long they have waited, longest
    first, and others by time, newest first."""
    match row.state.group:
        case "asks":
            return min(block.decided_at or 0 for block in row.stream.asking)
        case "held":
            return min(block.held_at or 0 for block in row.stream.held)
        case "stalled":
            return row.stream.quiet_since
        case _:
            return -(row.stream.ended_at or row.stream.requested_at)


def facts_of(row: RowView) -> Facts:
    """What a filter can match in the row."""
    stream = row.stream
    session = (stream.label, stream.session_known_as, str(stream.session_id))
    words = (*session, stream.model, stream.key_name, str(stream.id), row.why)
    holders = (name for block in stream.held for name in block.held_by)
    return Facts(
        model=_lower(stream.requested_model, stream.upstream_model),
        key=_lower(stream.key_name),
        session=_lower(*session),
        policy=_lower(*holders, *(verdict.policy for verdict in stream.verdicts)),
        verdict=_lower(*(verdict.word for verdict in stream.verdicts)),
        tool=_lower(*_newest_tools(stream)),
        state=_lower(*_states(row)),
        text=" ".join(words).lower(),
    )


def _newest_tools(stream: StreamView) -> list[str]:
    """Each name once, as a filter checks all of them."""
    names = dict.fromkeys(block.name for block in reversed(stream.blocks) if block.is_tool_call)
    return list(names)[:_MOST_TOOLS]


def _states(row: RowView) -> tuple[str, ...]:
    """A stream that waits for a person is held, too."""
    held = ("held",) if row.stream.asking else ()
    return (row.state.word, *held, "running" if row.stream.is_running else "finished")


def _lower(*words: str) -> tuple[str, ...]:
    """Each word once, and no more of it than a filter can match."""
    return tuple(dict.fromkeys(word[:_WORD_CHARACTERS].lower() for word in words if word))
