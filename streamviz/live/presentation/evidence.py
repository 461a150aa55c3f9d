"""What a verdict found and where, in words. Evidence comes from policies, which may be anybody's code."""

from collections.abc import Iterator, Mapping
from itertools import islice

from streamviz.core.json_value import as_index, objects
from streamviz.live.presentation.text import one_line

_SHOWN_SPANS = 5
_LONGEST = 120
_MOST_FACTS = 20
# Facts that the reason has, or that are shown together with another.
_ELSEWHERE = {"counts", "spans", "start", "end", "length", "explanation"}


def evidence_text(evidence: Mapping[str, object], reason: str) -> str:
    """One line of what `reason` does not say already; empty if there is nothing more to say."""
    return " · ".join([*_places(evidence), *islice(_facts(evidence, reason), _MOST_FACTS)])


def _places(evidence: Mapping[str, object]) -> Iterator[str]:
    spans = objects(evidence.get("spans")) or [dict(evidence)]
    places = [place for span in spans[:_SHOWN_SPANS] if (place := _place(span))]
    if places:
        yield f"characters {', '.join(places)}" + (", …" if len(spans) > _SHOWN_SPANS else "")


def _place(span: Mapping[str, object]) -> str:
    start, end, length = (as_index(span.get(name)) for name in ("start", "end", "length"))
    if start is None:
        return ""
    if end is None and length is not None:
        end = start + length
    return str(start) if end is None else f"{start}–{end}"


def _facts(evidence: Mapping[str, object], reason: str) -> Iterator[str]:
    for name, value in evidence.items():
        if name in _ELSEWHERE or not isinstance(value, str | int | float):
            continue
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        if shown not in reason:
            yield f"{one_line(name, _LONGEST)} {one_line(shown, _LONGEST)}"
