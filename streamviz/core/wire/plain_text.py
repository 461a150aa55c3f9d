"""Calls of tools that take plain text, for models that were given functions in their place.

Such a function has one argument, a string: the text that the tool is to get.
"""

import json
import re
from collections.abc import Iterator, Sequence, Set

import msgspec

from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
)
from streamviz.core.wire.openai_chat_calls import CUSTOM
from streamviz.core.wire.translation import is_cut_off

_OPENING = re.compile(r'\s*+\{\s*+"content"\s*+:\s*+"')
_LONGEST_OPENING = 100
_LONGEST_ESCAPE = len(r"\ud83d\ude00")
_ESCAPED = r'["\\/bfnrt]|u[0-9a-fA-F]{4}'
# Characters that have come whole: no half of an escape, and no half of a surrogate pair. If the other half does not
# follow, or the escape is not a valid one, what there is counts.
_CHARACTERS = re.compile(
    r"""(?:
        [^"\\]++
      | \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
      | \\u[dD][89abAB][0-9a-fA-F]{2}(?=[^\\]|\\[^u]|\\u[^dD]|\\u[dD][^c-fC-F])
      | \\u(?![dD][89abAB])[0-9a-fA-F]{4}
      | \\u(?=[0-9a-fA-F]{0,3}[^0-9a-fA-F])
      | \\[^u]
    )*+""",
    re.VERBOSE,
)
_BACKSLASH = re.compile(rf"\\(?:{_ESCAPED})|(\\)")


class PlainCalls:
    """Reads the events of a response of the format `source` in which calls of the tools in `names` are function
    calls."""

    def __init__(self, names: Set[str], source: str) -> None:
        self._names = names
        self._source = source
        self._inputs: dict[int, _Input] = {}

    def said_by(self, events: Sequence[StreamEvent]) -> Iterator[StreamEvent]:
        """The same events, with those calls as calls of tools that take text. A text alone does not show that it is cut
        off, so the events say so."""
        is_cut = any(isinstance(event, StreamFinished) and is_cut_off(event.reason, self._source) for event in events)
        for event in events:
            match event:
                case BlockStarted(kind=BlockKind.TOOL_CALL) if event.name in self._names:
                    self._inputs[event.ordinal] = _Input()
                    yield msgspec.structs.replace(event, label=CUSTOM)
                case BlockDelta() if (input := self._inputs.get(event.ordinal)) is not None:
                    yield msgspec.structs.replace(event, text=input.take(event.text))
                case BlockCompleted() if (input := self._inputs.get(event.ordinal)) is not None:
                    is_part = (is_cut or event.truncated) and not input.is_whole
                    yield msgspec.structs.replace(event, truncated=is_part)
                case BlockSealed() if (input := self._inputs.pop(event.ordinal, None)) is not None:
                    yield BlockDelta(event.ordinal, input.rest())
                    yield event
                case _:
                    yield event


class _Input:
    """The text in the arguments of a call, as far as they have come. Arguments that are written differently stay as
    they are."""

    def __init__(self) -> None:
        self.is_whole = False
        self._waiting = ""
        self._read = self._opening

    def take(self, piece: str) -> str:
        """What a piece of the arguments adds to the text."""
        self._waiting += piece
        return self._read()

    def rest(self) -> str:
        """What is left at the end of the call."""
        return self._waiting

    def _opening(self) -> str:
        if (found := _OPENING.match(self._waiting)) is not None:
            self._waiting, self._read = self._waiting[found.end() :], self._characters
        elif len(self._waiting) > _LONGEST_OPENING:
            self._read = self._as_it_is
        else:
            return ""
        return self._read()

    def _characters(self) -> str:
        found = _CHARACTERS.match(self._waiting)
        end = 0 if found is None else found.end()
        said, self._waiting = self._waiting[:end], self._waiting[end:]
        if self._waiting.startswith('"'):
            self._waiting, self._read, self.is_whole = "", self._nothing, True
        elif len(self._waiting) > _LONGEST_ESCAPE:
            self._read = self._as_it_is
        text = json.loads(f'"{_BACKSLASH.sub(_spelt, said)}"', strict=False)
        return str(text).encode(errors="replace").decode()

    def _as_it_is(self) -> str:
        said, self._waiting = self._waiting, ""
        return said

    def _nothing(self) -> str:
        """Ignore what comes after the text."""
        self._waiting = ""
        return ""


def _spelt(escape: re.Match[str]) -> str:
    """An escape as it is; a backslash that does not begin one, escaped."""
    return r"\\" if escape[1] else escape[0]
