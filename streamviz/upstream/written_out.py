"""How large a request's schemas become once each reference in them is written out, as LiteLLM does for providers that
take none. A kilobyte of definitions that refer to each other can become more than fits into memory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, encode
from streamviz.core.model_names import SIMULATOR
from streamviz.upstream.providers import PROVIDERS

# LiteLLM writes out schemas, or some of them, for these providers; it may do so for any that only a route can name.
_WRITTEN_OUT_FOR = frozenset("anthropic azure_ai bedrock databricks fireworks_ai gemini vertex_ai".split())
KEEP_REFERENCES = frozenset({*PROVIDERS, SIMULATOR}) - _WRITTEN_OUT_FOR
# The fields in which formats have schemas.
_FIELDS = ("tools", "functions", "response_format", "text", "output_config", "generationConfig")
_KEYWORDS = ("$defs", "definitions")
_WORDS = tuple(f'"{each}"'.encode() for each in (*_KEYWORDS, "components"))
# In JSON values: as many as may be translated at all by default. This many characters of a text take as long as one
# value. So does, for each object, this number of definitions, which LiteLLM lists anew for every object among them.
_MOST = 50_000
_CHARACTERS, _LISTED = 100, 50
# LiteLLM gives up on anything nested deeper.
_DEEPEST = 100


class _Part(NamedTuple):
    """A part of a schema: how many values it has, how many of them are objects, and which definitions it refers to."""

    values: int
    objects: int
    names: list[str]


def require_short(request: JsonObject) -> None:
    """Raises RequestError (413) for schemas that become larger, once written out, than anybody reads."""
    said = [request[name] for name in _FIELDS if name in request]
    written = encode(said)
    if not any(word in written for word in _WORDS):
        return
    left = _MOST
    for root in _roots(said):
        left -= _Schema(left).values_of(root)


def _roots(value: object) -> Iterator[JsonObject]:
    """The outermost objects that have definitions."""
    if isinstance(value, dict) and any(_definitions_in(value)):
        yield value
        return
    for each in value.values() if isinstance(value, dict) else as_list(value):
        yield from _roots(each)


def _definitions_in(part: JsonObject) -> Iterator[tuple[str, object]]:
    """Its definitions by name, under all keywords in use."""
    for told in (*map(part.get, _KEYWORDS), as_object(part.get("components")).get("schemas")):
        yield from as_object(told).items()


class _Schema:
    """One schema, with the definitions in it; it may have `most` values when written out."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values = 0
        self._read: dict[int, _Part] = {}  # by the object's identity, so that each is read once
        self._definitions: defaultdict[str, list[_Part]] = defaultdict(list)
        self._on_the_way: set[str] = set()

    def values_of(self, root: JsonObject) -> int:
        """How many values the schema has with all references written out. Raises RequestError if there are too many."""
        whole = self._part(root)
        self._add(whole._replace(values=0))
        for name in whole.names:
            self._write_out(name)
        return self._values

    def _part(self, value: object) -> _Part:
        if isinstance(value, str):
            return _Part(1 + len(value) // _CHARACTERS, 0, [])
        if not isinstance(value, dict):
            return _sum(map(self._part, as_list(value)))
        part = self._read[id(value)] = _sum(map(self._part, value.values()), value)
        for name, body in _definitions_in(value):
            if id(body) in self._read:
                self._definitions[name].append(self._read[id(body)])
        return part

    def _write_out(self, name: str) -> None:
        """Add what a name refers to. A circular reference stays as it is where the circle closes."""
        if name in self._on_the_way or name not in self._definitions:
            return
        self._on_the_way.add(name)
        if len(self._on_the_way) > _DEEPEST:
            raise _too_large()
        for part in self._definitions[name]:
            self._add(part)
            for each in part.names:
                self._write_out(each)
        self._on_the_way.remove(name)

    def _add(self, part: _Part) -> None:
        self._values += part.values + part.objects * len(self._definitions) // _LISTED
        if self._values > self._most:
            raise _too_large()


def _sum(parts: Iterable[_Part], holder: JsonObject | None = None) -> _Part:
    """A list, or the object `holder`, with everything in it."""
    values, objects, names = 1, int(holder is not None), _names(holder or {})
    for part in parts:
        values += part.values
        objects += part.objects
        names += part.names
    return _Part(values, objects, names)


def _names(part: JsonObject) -> list[str]:
    """The names that it refers to: LiteLLM goes by the last step of a reference's path."""
    way = as_text(part.get("$ref"))
    return [way.rpartition("/")[2]] if way else []


def _too_large() -> RequestError:
    message = (
        f"What the request's schemas refer to comes to more than {_MOST} JSON values once it is written out, as this"
        " model's provider needs it."
    )
    return RequestError(413, message, code="too_large")
