"""The filter of the Sessions page: the fields of the Live page's, and some that only finished streams can have.

A name matches exactly, if there is such a name; otherwise it matches all that contain it, or that fit its stars.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from streamviz.core.verdicts import Decision
from streamviz.live.filter_terms import Term
from streamviz.live.filters import Filter
from streamviz.live.presentation.figures import UNKNOWN
from streamviz.records.models import Outcome
from streamviz.records.queries import names
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.found_words import words_pattern

# Each field with an example, as the page lists them.
FIELDS = {
    "model": "model:gpt-4*",
    "provider": "provider:openai",
    "key": "key:nightly",
    "session": 'session:"a label, or an id"',
    "policy": "policy:shell-guard",
    "verdict": 'verdict:deny, verdict:"would deny"',
    "intervened": "intervened:yes",
    "tool": "tool:run_shell",
    "state": "state:running",
    "outcome": "outcome:halted",
    "finish_reason": "finish_reason:length",
    "error": "error:timeout",
    "starred": "starred:yes",
    "label": "label:regression",
    "note": 'note:"ask the provider"',
    "cost": "cost:0.50 (at least $0.50)",
    "duration": "duration:30s (at least 30 s)",
}
# Filters that are a click away.
SHORTCUTS = {
    "All": "",
    "Intervened": "intervened:yes",
    "Failed": "outcome:upstream_error outcome:interrupted",
    "Starred": "starred:yes",
}
_OVER = tuple(outcome.value for outcome in Outcome)
_STATES: dict[str, tuple[str, ...]] = {
    **{outcome.value.replace("_", " "): (outcome.value,) for outcome in Outcome},
    "client left": (Outcome.CLIENT_DISCONNECTED.value,),
    "running": ("",),
    "finished": _OVER,
}
_DECISIONS: dict[str, tuple[str, ...]] = {
    word: (word,) for each in Decision for word in (each.value, f"would {each.value}")
}
_ANSWERS = {"yes": True, "no": False}
_COST = re.compile(r"(?:>=?)?\$?(\d{1,9}(?:\.\d{1,9})?)")
_DURATION = re.compile(r"(?:>=?)?(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|min|h)?")
_NO_FIELD = "needs a field, e.g. -model:gpt-4.1"
_NO_WORDS = "cannot be searched for, only letters and digits can"
_SECONDS = {"ms": 0.001, "s": 1, None: 1, "m": 60, "min": 60, "h": 3600}


class Asked(NamedTuple):
    """A filter as the record can answer it, and what in it makes no sense."""

    filters: Filters
    problems: list[str]


class _NotUnderstood(Exception):
    """Says what is wrong with a term, in words to follow it."""


def read(written: Filter) -> Asked:
    """What a filter of FIELDS asks for."""
    wanted: dict[str, Any] = defaultdict(tuple)
    without: dict[str, Any] = defaultdict(tuple)
    problems = []
    for term in written.terms:
        try:
            if term.field:
                _add(without if term.is_not else wanted, term)
            elif term.is_not:
                raise _NotUnderstood(_NO_FIELD if _has_words(term) else _NO_WORDS)
        except _NotUnderstood as why:
            problems.append(f"{term.source} {why}")
    text, why_not = _text_of([term for term in written.terms if not term.field and not term.is_not])
    filters = Filters(**wanted, text=text, without=Filters(**without) if without else None)
    return Asked(filters, problems + why_not)


def _text_of(terms: Sequence[Term]) -> tuple[str, list[str]]:
    """What to search for, or why not. A search leaves symbols out, so that symbols alone would match everything."""
    if terms and not any(map(_has_words, terms)):
        return "", [f"{' '.join(term.source for term in terms)} {_NO_WORDS}"]
    return " ".join(map(_words, terms)), []


def _has_words(term: Term) -> bool:
    return words_pattern(term.value) is not None


def _words(term: Term) -> str:
    """Quoted words are joined by hyphens, which makes them a phrase, as the parts of a path are."""
    return "-".join(term.value.split())


def _add(found: dict[str, Any], term: Term) -> None:
    """Of several terms for a field any may match, and of several amounts the least counts."""
    name, value = _READERS[term.field](term)
    if isinstance(value, tuple):
        found[name] += value
    else:
        found[name] = min(value, found.get(name, value))


def _names(name: str, known: Callable[[], Iterable[str]]) -> Callable[[Term], tuple[str, tuple[str, ...]]]:
    return lambda term: (name, _matching(term, known()))


def _matching(term: Term, known: Iterable[str]) -> tuple[str, ...]:
    lower = {each: each.lower() for each in known}
    if term.value == UNKNOWN:
        return ("",)
    if exact := [each for each, name in lower.items() if name == term.pattern]:
        return tuple(exact)
    # Only `*` is special here: a bracket in a name is a bracket.
    pattern = term.pattern if "*" in term.pattern else f"*{term.pattern}*"
    pattern = pattern.replace("[", "[[]").replace("?", "[?]")
    found = tuple(each for each, name in lower.items() if fnmatchcase(name, pattern))
    return found or (term.value,)


def _exact(name: str) -> Callable[[Term], tuple[str, tuple[str, ...]]]:
    return lambda term: (name, ("" if term.value == UNKNOWN else term.value,))


def _sessions(term: Term) -> tuple[str, tuple[str, ...]]:
    """A label, a name or an id, of which pages show the beginning."""
    name, values = _exact("sessions")(term)
    return name, (*values, *names.sessions_beginning_with(term.value))


def _word(name: str, words: dict[str, tuple[str, ...]]) -> Callable[[Term], tuple[str, tuple[str, ...]]]:
    def read_word(term: Term) -> tuple[str, tuple[str, ...]]:
        found = words.get(term.pattern.replace("_", " "))
        if found is None:
            raise _NotUnderstood(f"must be one of {', '.join(words)}")
        return name, found

    return read_word


def _answer(name: str) -> Callable[[Term], tuple[str, bool]]:
    def read_answer(term: Term) -> tuple[str, bool]:
        if term.pattern not in _ANSWERS:
            raise _NotUnderstood("must be yes or no")
        return name, _ANSWERS[term.pattern]

    return read_answer


def _part(name: str) -> Callable[[Term], tuple[str, tuple[str, ...]]]:
    """Part of a text; only `*` is special."""

    def read_part(term: Term) -> tuple[str, tuple[str, ...]]:
        escaped = re.sub(r"([\\%_])", r"\\\1", term.value)
        return name, (f"%{escaped.replace('*', '%')}%",)

    return read_part


def _cost(term: Term) -> tuple[str, float]:
    if not (match := _COST.fullmatch(term.pattern)):
        raise _NotUnderstood("must be a number of dollars, e.g. cost:0.50")
    return "least_cost", float(match[1])


def _duration(term: Term) -> tuple[str, float]:
    if not (match := _DURATION.fullmatch(term.pattern)):
        raise _NotUnderstood("must be a number of seconds, e.g. duration:30, 500ms, 2m or 1h")
    return "least_seconds", float(match[1]) * _SECONDS[match[2]]


_READERS: dict[str, Callable[[Term], tuple[str, Any]]] = {
    "model": _names("models", names.models),
    "provider": _exact("providers"),
    "key": _names("keys", names.keys),
    "session": _sessions,
    "policy": _names("policies", names.policies),
    "verdict": _word("decisions", _DECISIONS),
    "intervened": _answer("intervened"),
    "tool": _names("tools", names.tools),
    "state": _word("outcomes", _STATES),
    "outcome": _word("outcomes", _STATES),
    "finish_reason": _exact("finish_reasons"),
    "error": _part("errors"),
    "starred": _answer("starred"),
    "label": _names("labels", names.labels),
    "note": _part("notes"),
    "cost": _cost,
    "duration": _duration,
}
