"""Texts that come in pieces outside of blocks, as clients join them."""

from collections.abc import Iterator

# How much is kept of each text (characters), and of how many.
_LENGTH = 1_000
_MOST = 100
# Members that are opaque if they are strings.
OPAQUE = frozenset(("signature", "thought_signature", "encrypted_content"))


class JoinedPieces:
    """The texts so far, by their place. `are_too_many` is set if there are more than can be kept."""

    def __init__(self) -> None:
        self._texts: dict[tuple[object, ...], str] = {}
        self.are_too_many = False

    def add(self, value: object, *place: object) -> Iterator[str]:
        """Join texts as SDKs do: they concatenate what deltas have in the same place, whatever its name. Yields each
        text that goes on."""
        if isinstance(value, dict):
            for name, inner in value.items():
                if not (name in OPAQUE and isinstance(inner, str)):
                    yield from self.add(inner, *place, name)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                yield from self.add(inner, *place, number)
        elif isinstance(value, str) and value:
            before = self._texts.get(place, "")
            if not before and len(self._texts) >= _MOST:
                self.are_too_many = True
                return
            self._texts[place] = (before + value)[-_LENGTH:]
            if before:
                yield self._texts[place]
