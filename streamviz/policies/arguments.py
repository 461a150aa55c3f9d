"""Looking into the arguments of a tool call so that no way of writing them hides what they say."""

import json
import re
from collections.abc import Iterable, Iterator

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import as_json_text, decode

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


class Arguments:
    """The arguments of one call, read once for all patterns."""

    def __init__(self, raw: str) -> None:
        self._raw = raw
        try:
            self._value: object = read_once(raw)
        except ValueError:
            self._value = None
        self._whole: list[str] | None = None

    @property
    def is_one_object(self) -> bool:
        """Whether every client reads the same in it."""
        return isinstance(self._value, dict)

    def texts(self, path: JSONPath | None) -> Iterable[str]:
        """The texts at `path`; everything where there is none, or where these are not the members of one JSON object.

        What cannot be read as it should may still be read by the client, so a path does not let it slip by. Raises
        ValueError where there are so many values that to follow the path would take too long.
        """
        if path is None or not isinstance(self._value, dict):
            return self._everything()
        if self._raw.count(",") > MOST_VALUES:
            raise ValueError("there are too many values in the arguments")
        try:
            # One by one: values lie within values, and all their texts can come to a hundred times the arguments.
            return map(as_json_text, path.findall(self._value))
        except JSONPathError:
            return self._everything()

    def _everything(self) -> list[str]:
        """The raw text and each string in it, as they are and without escapes: arguments may be JSON within JSON."""
        if self._whole is None:
            texts = [self._raw, *_strings(self._value)]
            self._whole = texts + [unescaped(text) for text in texts if "\\" in text]
        return self._whole


def read_once(raw: str) -> object:
    """The JSON value in arguments. Raises ValueError where there is none, or a key comes twice."""
    value = decode(raw)
    json.loads(raw, object_pairs_hook=_unique, strict=False)
    return value


def unescaped(text: str) -> str:
    """What a text says that has JSON's escapes in it, whether it is JSON or not."""
    return _ESCAPE.sub(_character, text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of a key that comes twice one client takes the first value and another the last."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key comes twice")
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
