"""The terms of the Live page's filter: each is one condition on a stream."""

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec

_WHOLE = ("verdict", "state")  # these have a few known words, some of which contain others


class Facts(msgspec.Struct, frozen=True):
    """What a filter can match in a stream, in lower case. `verdict` has words such as `deny` and `would deny`."""

    model: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    policy: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    text: str = ""


class Term(NamedTuple):
    """One condition. `field` is empty for free text; `pattern` is the value in lower case, `source` the whole term as
    it is written in a filter."""

    field: str
    pattern: str
    is_not: bool
    source: str
    value: str

    def holds(self, facts: Facts) -> bool:
        """Whether the condition holds, regardless of `is_not`."""
        if not self.field:
            return self.pattern in facts.text
        values: tuple[str, ...] = getattr(facts, self.field)
        if "*" in self.pattern:
            # Only `*` is special here: a bracket in a name is a bracket.
            pattern = self.pattern.replace("[", "[[]").replace("?", "[?]")
            return any(fnmatchcase(value, pattern) for value in values)
        if self.field in _WHOLE:
            return self.pattern in values
        return any(self.pattern in value for value in values)


def quoted_if_needed(value: str, *, is_quoted: bool = False) -> str:
    """A value as it is written in a filter."""
    escaped = value.replace('"', '""')
    return f'"{escaped}"' if is_quoted or re.search(r'[\s"]', value) else value
