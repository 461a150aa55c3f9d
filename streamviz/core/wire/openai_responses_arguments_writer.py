"""The arguments of a call, written as JSON while they come field by field."""

import json
from dataclasses import dataclass

from streamviz.core.json_value import JsonObject


@dataclass(slots=True)
class ArgumentsWriter:
    """Writes the arguments of a call whose fields come as plain text, piece by piece, as JSON that is whole at the end.

    Each method returns what is to be appended.
    """

    said: dict[tuple[str, int | None], list[str]]
    _at: tuple[str, int | None] | None = None

    def piece(self, key: str, number: int | None, text: str) -> str:
        """Add a piece of a field, or of an element of a list."""
        place = key, number
        self.said.setdefault(place, []).append(text)
        opening = "" if place == self._at else self._open(place)
        self._at = place
        return opening + json.dumps(text, ensure_ascii=False)[1:-1]

    def end(self, whole: JsonObject) -> str:
        """End the JSON with those members of `whole` that did not come as fields."""
        came = {key if number is None else f"{key}s" for key, number in self.said}
        rest = {key: value for key, value in whole.items() if key not in came}
        tail = json.dumps(rest, ensure_ascii=False)[1:]
        return f"{self._close()}{', ' if rest else ''}{tail}"

    @property
    def fields(self) -> JsonObject:
        """The fields so far, as the arguments will have them."""
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
