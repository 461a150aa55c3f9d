"""The arguments of a call: as they come field by field, and whether they are the same however they are told."""

import json
from dataclasses import dataclass

from streamviz.core.json_value import JsonObject, as_list, decode, has_more_values

_MOST_VALUES = 100_000


@dataclass(slots=True)
class ArgumentsWriter:
    """Writes the arguments of a call whose fields come as plain text, piece by piece: JSON that is whole at the end.

    Each method gives what is to be appended.
    """

    said: dict[tuple[str, int | None], list[str]]
    _at: tuple[str, int | None] | None = None

    def piece(self, key: str, number: int | None, text: str) -> str:
        """A piece of a field, or of a place in a list."""
        place = key, number
        self.said.setdefault(place, []).append(text)
        opening = "" if place == self._at else self._open(place)
        self._at = place
        return opening + json.dumps(text, ensure_ascii=False)[1:-1]

    def end(self, whole: JsonObject) -> str:
        """The end, with what `whole` has beside the fields that came."""
        came = {key if number is None else f"{key}s" for key, number in self.said}
        rest = {key: value for key, value in whole.items() if key not in came}
        tail = json.dumps(rest, ensure_ascii=False)[1:]
        return f"{self._close()}{', ' if rest else ''}{tail}"

    @property
    def fields(self) -> JsonObject:
        """What has come so far, as the arguments will say it."""
        fields: JsonObject = {}
        for (key, number), pieces in self.said.items():
            text = "".join(pieces)
            if number is None:
                fields[key] = text
            else:
                listed = fields.setdefault(f"{key}s", [])
                if isinstance(listed, list):
                    listed.append(text)
        return fields

    def _open(self, place: tuple[str, int | None]) -> str:
        key, number = place
        if self._at is not None and self._at[0] == key and number is not None:
            return '", "'
        name = json.dumps(key if number is None else f"{key}s", ensure_ascii=False)
        return f'{"{" if self._at is None else self._close() + ", "}{name}: {"[" if number is not None else ""}"'

    def _close(self) -> str:
        return '"' if self._at is None or self._at[1] is None else '"]'


def is_same(one: str, other: str) -> bool:
    """Whether two texts are the same arguments, however they are spaced. Of very many values nobody looks at each."""
    if one == other:
        return True
    if any(has_more_values(text.encode("utf-8", "replace"), _MOST_VALUES) for text in (one, other)):
        return False
    try:
        return decode(one) == decode(other)
    except ValueError:
        return False


def goes_on(begun: object, whole: object) -> bool:
    """Whether `whole` is what `begun` was the beginning of."""
    if is_empty(begun):
        return True
    if isinstance(begun, str):
        return isinstance(whole, str) and whole.startswith(begun)
    if isinstance(begun, dict):
        return isinstance(whole, dict) and all(goes_on(value, whole.get(key)) for key, value in begun.items())
    if isinstance(begun, list):
        is_long = isinstance(whole, list) and len(whole) >= len(begun)
        return is_long and all(goes_on(*pair) for pair in zip(begun, as_list(whole), strict=False))
    return begun == whole


def is_empty(value: object) -> bool:
    """Whether a value says nothing."""
    if isinstance(value, dict):
        return all(is_empty(inner) for inner in value.values())
    return value is None or value == "" or value == []
