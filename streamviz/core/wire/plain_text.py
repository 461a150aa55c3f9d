"""Calls of tools that take plain text, where a model was told of functions in their place.

Such a function has one argument, a text, which is what the tool is to get.
"""

import json
import re
from collections.abc import Iterable, Iterator, Set

import msgspec

from streamviz.core.events import BlockDelta, BlockKind, BlockSealed, BlockStarted, StreamEvent
from streamviz.core.wire.openai_chat_calls import CUSTOM

_OPENING = re.compile(r'\s*+\{\s*+"content"\s*+:\s*+"')
_LONGEST_OPENING = 100
_LONGEST_ESCAPE = len(r"\ud83d\ude00")
# As far as they have come whole: no half of an escape, and no half of a character that JSON has in two.
_CHARACTERS = re.compile(
    r'(?:[^"\\]++|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))*+"
)


class PlainCalls:
    """Reads the events of a response in which calls of the tools in `names` are functions."""

    def __init__(self, names: Set[str]) -> None:
        self._names = names
        self._inputs: dict[int, _Input] = {}

    def said_by(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """The same events, with those calls as calls of tools that take text."""
        for event in events:
            match event:
                case BlockStarted(kind=BlockKind.TOOL_CALL) if event.name in self._names:
                    self._inputs[event.ordinal] = _Input()
                    yield msgspec.structs.replace(event, label=CUSTOM)
                case BlockDelta() if (input := self._inputs.get(event.ordinal)) is not None:
                    yield msgspec.structs.replace(event, text=input.take(event.text))
                case BlockSealed() if (input := self._inputs.pop(event.ordinal, None)) is not None:
                    yield BlockDelta(event.ordinal, input.rest())
                    yield event
                case _:
                    yield event


class _Input:
    """The text in the arguments of a call, as far as they have come. What is written in another way stays as it is."""

    def __init__(self) -> None:
        self._waiting = ""
        self._read = self._opening

    def take(self, piece: str) -> str:
        """What this adds to the text."""
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
            self._waiting, self._read = "", self._nothing
        elif len(self._waiting) > _LONGEST_ESCAPE:
            self._read = self._as_it_is
        return str(json.loads(f'"{said}"', strict=False))

    def _as_it_is(self) -> str:
        said, self._waiting = self._waiting, ""
        return said

    def _nothing(self) -> str:
        """Behind the text."""
        self._waiting = ""
        return ""
