"""The filter of the Live page: `model:gpt* -key:ci state:held "two words"`, as people write it."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from streamviz.live.filter_terms import Facts, Term, quoted_if_needed

FIELDS = ("model", "key", "session", "policy", "verdict", "tool", "state")
MOST_CHARACTERS = 300
_MOST_TERMS = 20
_TERM = re.compile(r'(-?)(?:([a-z_]+):)?(?:"((?:[^"]|"")*)"?|(\S+))')  # quotation marks are doubled inside quotes
# A URL is not a term of a field.
_LIKE_A_FIELD = re.compile(r"-?([a-z_]+):(?!//)")


class Filter(NamedTuple):
    """The conditions of a filter. All must hold, but of several without `-` for the same field, one is enough."""

    terms: tuple[Term, ...]

    @property
    def text(self) -> str:
        """The filter as it is written in a URL; equal filters are written the same way."""
        return " ".join(term.source for term in self.terms)

    def matches(self, facts: Facts) -> bool:
        """Whether a stream is to be shown."""
        wanted: dict[str, bool] = {}
        for term in self.terms:
            holds = term.holds(facts)
            if term.is_not or not term.field:
                if holds is term.is_not:
                    return False
            else:
                wanted[term.field] = wanted.get(term.field, False) or holds
        return all(wanted.values())

    def without(self, term: Term) -> "Filter":
        """The same filter without one condition."""
        return Filter(tuple(each for each in self.terms if each != term))


EVERYTHING = Filter(())


class Shortcut(NamedTuple):
    """A filter that is a click away: what a page is filtered by after the click, and whether it is so now."""

    name: str
    filter: Filter
    is_chosen: bool


def shortcuts_of(known: Mapping[str, str], now: Filter, fields: Collection[str] = FIELDS) -> list[Shortcut]:
    """Filters by name that are one choice together. One takes the place of another and of what else is asked of its
    fields, as any of these would do, and is added to the rest; an empty one stands for everything.
    Those are left out that would make a filter too long."""
    parsed = {name: parse_filter(text, fields) for name, text in known.items()}
    chosen = [each for each in parsed.values() if each.terms and set(_asked_like(each, now)) == set(each.terms)]
    kept = [term for term in now.terms if not any(term in each.terms for each in chosen)]

    def shortcut(name: str, each: Filter) -> Shortcut:
        if not each.terms:
            return Shortcut(name, EVERYTHING, now == EVERYTHING)
        others = [term for term in kept if term not in _asked_like(each, now)]
        return Shortcut(name, Filter((*others, *each.terms)), each in chosen)

    found = [shortcut(name, each) for name, each in parsed.items()]
    return [each for each in found if each.is_chosen or parse_filter(each.filter.text, fields) == each.filter]


def _asked_like(each: Filter, now: Filter) -> list[Term]:
    """The terms of a filter of which one is enough together with another's."""
    fields = {term.field for term in each.terms}
    return [term for term in now.terms if term.field in fields and not term.is_not]


def parse_filter(text: str, fields: Collection[str] = FIELDS) -> Filter:
    """Parse a filter. Nothing is an error: a term that names none of the fields is text to search for."""
    found = [_term(match, fields) for match in _TERM.finditer(text[:MOST_CHARACTERS].replace("\x00", " "))]
    terms = dict.fromkeys(term for term in found if term.pattern)
    return Filter(tuple(terms)[:_MOST_TERMS])


def unknown_fields(wanted: Filter, fields: Collection[str] = FIELDS) -> list[str]:
    """Messages about terms that look like a field's but name no known one or lack a value, and are searched for as
    text."""
    texts = (term.source for term in wanted.terms if not term.field)
    return [_what_is_wrong(match[1], fields) for text in texts if (match := _LIKE_A_FIELD.match(text))]


def _what_is_wrong(name: str, fields: Collection[str]) -> str:
    if name in fields:  # with a value, it would be a term of this field
        return f"Add a value after {name}:, or quote it to search for it as text."
    known = " ".join(f"{each}:" for each in fields)
    return f"There is no filter {name}:, only {known}; quote it to search for it as text."


def _term(match: re.Match[str], fields: Collection[str]) -> Term:
    minus, field, quoted, word = match.groups()
    value = word if quoted is None else quoted.replace('""', '"')
    is_quoted = not field and quoted is not None and _LIKE_A_FIELD.match(value) is not None
    written = f"{field}:{quoted_if_needed(value)}" if field else quoted_if_needed(value, is_quoted=is_quoted)
    if field and field not in fields:
        field, value = "", f"{field}:{value}"
    return Term(field or "", value.lower(), bool(minus), f"{minus}{written}", value)
