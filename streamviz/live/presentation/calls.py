"""A tool call on one line: its arguments, short enough to decide about it at a glance."""

import jiter

from streamviz.live.presentation.figures import plural
from streamviz.live.presentation.text import one_line

_CHARACTERS = 240
_VALUE_CHARACTERS = 120


def call_line(arguments: str, length: int) -> str:
    """`path: "a.py", hunks: 2 items, 214 chars`; `arguments` may be the beginning of a text of `length` characters."""
    try:
        value = jiter.from_json(arguments.encode("utf-8", "replace"), partial_mode="trailing-strings")
    except ValueError:
        return one_line(arguments, _CHARACTERS)
    if not isinstance(value, dict):
        return one_line(arguments, _CHARACTERS)
    said = ", ".join(f"{name}: {_short(each)}" for name, each in list(value.items())[:_CHARACTERS])
    return ", ".join(each for each in (one_line(said, _CHARACTERS), f"{length:,} chars") if each)


def _short(value: object) -> str:
    match value:
        case dict():
            return plural(len(value), "field")
        case list():
            return plural(len(value), "item")
        case str():
            return f'"{one_line(value, _VALUE_CHARACTERS)}"'
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case _:
            return one_line(str(value), _VALUE_CHARACTERS)
