"""The filter of the Live page: `model:gpt* -key:ci state:held "two words"`, as people write it."""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec

FIELDS = ("model", "key", "session", "policy", "verdict", "tool", "state")
_WHOLE = ("verdict", "state")  # these are a few known words, of which some contain others
MOST_CHARACTERS = 300
_MOST_TERMS = 20
_TERM = re.compile(r'(-?)(?:([a-z_]+):)?(?:"((?:[^"]|"")*)"?|(\S+))')  # a quotation mark in quotes is written twice
# An address is none.
_LIKE_A_FIELD = re.compile(r"-?([a-z_]+):(?!//)")


class Facts(msgspec.Struct, frozen=True):
    """What a filter can ask of a stream, in lower case. `verdict` has words such as `deny` and `would deny`."""

    model: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    policy: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    text: str = ""


class Term(NamedTuple):
    """One condition. `field` is empty for free text; `pattern` is its value in lower case, `source` how all of it was
    written."""

    field: str
    pattern: str
    is_not: bool
    source: str
    value: str

    def holds(self, facts: Facts) -> bool:
        """Whether it is so, whatever `is_not` says."""
        if not self.field:
            return self.pattern in facts.text
        values: tuple[str, ...] = getattr(facts, self.field)
        if "*" in self.pattern:
            # Only a star is special here: a bracket in a name is a bracket.
            pattern = self.pattern.replace("[", "[[]").replace("?", "[?]")
            return any(fnmatchcase(value, pattern) for value in values)
        if self.field in _WHOLE:
            return self.pattern in values
        return any(self.pattern in value for value in values)


class Filter(NamedTuple):
    """All conditions. Several for one field: any of them; otherwise all must hold."""

    terms: tuple[Term, ...]

    @property
    def text(self) -> str:
        """The filter as it is written in a URL; equal filters are written the same."""
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
        """The same without one condition."""
        return Filter(tuple(each for each in self.terms if each != term))


EVERYTHING = Filter(())


def parse_filter(text: str, fields: Collection[str] = FIELDS) -> Filter:
    """Read a filter. Nothing is an error: what names none of the fields is text to look for."""
    found = [_term(match, fields) for match in _TERM.finditer(text[:MOST_CHARACTERS].replace("\x00", " "))]
    terms = dict.fromkeys(term for term in found if term.pattern)
    return Filter(tuple(terms)[:_MOST_TERMS])


def unknown_fields(wanted: Filter, fields: Collection[str] = FIELDS) -> list[str]:
    """What is wrong with terms that look like a field's and are none: they are looked for as text."""
    texts = (term.source for term in wanted.terms if not term.field)
    found = [match[1] for text in texts if (match := _LIKE_A_FIELD.match(text))]
    known = " ".join(f"{name}:" for name in fields)
    return [f"There is no filter {name}: (there are {known}); quote it to search for it as text." for name in found]


def _term(match: re.Match[str], fields: Collection[str]) -> Term:
    minus, field, quoted, word = match.groups()
    value = word if quoted is None else quoted.replace('""', '"')
    is_quoted = not field and quoted is not None and _LIKE_A_FIELD.match(value) is not None
    written = f"{field}:{quoted_if_needed(value)}" if field else quoted_if_needed(value, is_quoted=is_quoted)
    if field and field not in fields:
        field, value = "", f"{field}:{value}"
    return Term(field or "", value.lower(), bool(minus), f"{minus}{written}", value)


def quoted_if_needed(value: str, *, is_quoted: bool = False) -> str:
    """A value as it is written in a filter."""
    escaped = value.replace('"', '""')
    return f'"{escaped}"' if is_quoted or re.search(r'[\s"]', value) else value
