"""The terms of the Live page's filter: one condition each, on what can be asked of a stream."""

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec

_WHOLE = ("verdict", "state")  # these are a few known words, of which some contain others


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


def quoted_if_needed(value: str, *, is_quoted: bool = False) -> str:
    """A value as it is written in a filter."""
    escaped = value.replace('"', '""')
    return f'"{escaped}"' if is_quoted or re.search(r'[\s"]', value) else value
