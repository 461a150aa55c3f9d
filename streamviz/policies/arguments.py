"""Looking into the arguments of a tool call so that no way of writing them hides what they say."""

import json
import re
from collections.abc import Iterable, Iterator

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject, as_json_text, decode_strictly

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
# To follow a path takes some µs a value.
MOST_VALUES = 50_000
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class _Paths(JSONPathEnvironment):
    """RFC 9535 without its functions for regular expressions, which run on Python's `re`."""

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        del self.function_extensions["match"], self.function_extensions["search"]


_paths = _Paths(strict=True)


def compile_path(path: str, field: str) -> JSONPath:
    """Raises PolicyParametersError for what is no JSON path (RFC 9535), such as one that does not begin with `$`, and
    for one that goes through everything for each thing: arguments can be long."""
    bare = _QUOTED.sub("", path)
    if bare.count("..") > 1 or bare.count("$") > 1:
        raise PolicyParametersError(f"{field}: at most one `..`, and no `$` but the first", field)
    try:
        compiled = _paths.compile(path)
    except JSONPathError as error:
        reason = error.args[0] if error.args else "it cannot be read"
        raise PolicyParametersError(f"{field}: not a JSON path: {reason}", field) from None
    if not isinstance(compiled, JSONPath):
        raise PolicyParametersError(f"{field}: one path, not several joined", field)
    return compiled


def read(block: ToolCallStreamBlock) -> JsonObject:
    """What a call is given, as every client reads it: nothing at all is an object without members, and plain text is
    the one member `input`.

    Raises ValueError where clients do not agree on it, or not all of them can read it: what is no JSON, no object, more
    than one value, nested deeper than MAX_DEPTH, or has a key twice, halves of surrogates or numbers out of range.
    """
    if block.is_free_text:
        return {"input": block.arguments}
    return _read_once(block.arguments) if block.arguments else {}


def read_json(text: str) -> object:
    """The value that every client reads there. Raises ValueError where they do not agree on it."""
    value = decode_strictly(text)
    json.loads(text, object_pairs_hook=_unique)
    return value


def _read_once(raw: str) -> JsonObject:
    try:
        value = read_json(raw)
    except ValueError as error:
        # The library's own words may quote what is there.
        raise ValueError(f"the arguments cannot be read as one JSON object ({_why(error)})") from None
    if not isinstance(value, dict):
        raise ValueError("the arguments are not a JSON object")
    return value


def _why(error: ValueError) -> str:
    return str(error) if type(error) is ValueError else "it is no JSON"


class Arguments:
    """The arguments of one call, read once for all patterns."""

    def __init__(self, block: ToolCallStreamBlock) -> None:
        self._raw = block.arguments
        self._value: JsonObject = {}
        self._unreadable: ValueError | None = None
        try:
            self._value = read(block)
        except ValueError as error:
            self._unreadable = error
        self._whole: list[str] | None = None

    def require_readable(self) -> None:
        """Raises ValueError where `read` does."""
        if self._unreadable is not None:
            raise self._unreadable

    def texts(self, path: JSONPath | None) -> Iterable[str]:
        """The texts at `path`; everything where there is none, also of arguments that cannot be read.

        Raises ValueError for a path where they cannot, or where there are so many values that to follow it would take
        too long.
        """
        if path is None:
            return self._everything()
        self.require_readable()
        if self._raw.count(",") > MOST_VALUES:
            raise ValueError("there are too many values in the arguments")
        # One by one: values lie within values, and all their texts can come to a hundred times the arguments.
        return map(as_json_text, path.findall(self._value))

    def _everything(self) -> list[str]:
        """The raw text and each string in it, as they are and without escapes: arguments may be JSON within JSON."""
        if self._whole is None:
            texts = [self._raw, *_strings(self._value)]
            self._whole = texts + [unescaped(text) for text in texts if "\\" in text]
        return self._whole


def unescaped(text: str) -> str:
    """What a text says that has JSON's escapes in it, whether it is JSON or not."""
    return _ESCAPE.sub(_character, text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of a key that comes twice one client takes the first value and another the last."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key appears twice")
    return members


def _character(escape: re.Match[str]) -> str:
    code, letter = escape.groups()
    return chr(int(code, 16)) if code else _CONTROLS.get(letter, letter)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from _strings(member)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
