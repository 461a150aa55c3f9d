"""Search the arguments of a tool call so that no way of writing them hides what they say."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from jsonpath import JSONPath

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.json_value import JsonObject, as_json_text
from streamviz.policies.argument_json import read, read_within, unescaped
from streamviz.policies.spellings import spelt

# Following a path takes a few µs per value.
MOST_VALUES = 50_000


class Arguments:
    """The arguments of one call, read once for all patterns, with `names` spelt as they are here; `is_spelt_so` says
    whether the call spells them so itself."""

    def __init__(self, block: ToolCallStreamBlock, names: Collection[str] = ()) -> None:
        self._raw = block.arguments
        self.is_spelt_so = True
        # The call's own, and what a tool that it calls gets.
        self._values: list[JsonObject] = []
        self._unreadable: ValueError | None = None
        try:
            written = [value := read(block), *read_within(block, value)]
            self._values = [spelt(value, names) for value in written]
            self.is_spelt_so = self._values == written
        except ValueError as error:
            self._unreadable = error
        self._whole: list[str] | None = None

    def require_readable(self) -> None:
        """Raises ValueError if `read` did."""
        if self._unreadable is not None:
            raise self._unreadable

    def texts(self, path: JSONPath | None) -> Iterable[str]:
        """The texts at `path`; without a path, all texts, even of arguments that cannot be read.

        With a path, raises ValueError if the arguments cannot be read, or have so many values that following it would
        take too long.
        """
        if path is None:
            return self._everything()
        self.require_readable()
        if self._raw.count(",") > MOST_VALUES:
            raise ValueError("there are too many values in the arguments")
        # Lazily: values are nested, and their texts together can be a hundred times as long as the arguments.
        return map(as_json_text, chain.from_iterable(map(path.findall, self._values)))

    def _everything(self) -> list[str]:
        """The raw text and its strings, as written and with escapes decoded: arguments may be JSON within JSON."""
        if self._whole is None:
            texts = [self._raw, *chain.from_iterable(map(_strings, self._values))]
            self._whole = texts + [unescaped(text) for text in texts if "\\" in text]
        return self._whole


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
