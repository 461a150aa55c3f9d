"""Text as a reader sees it, whatever characters it is written with, and what is encoded in it."""

import base64
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import decode
from streamviz.policies.parameters import compile_pattern

# Letters of other scripts that look like Latin ones. Other forms of the same letter are left to NFKD.
_LOOKS_LIKE = {
    "a": "аαɑᴀ",
    "b": "ЬβʙƄ",
    "c": "сϲᴄⲥ",
    "d": "ԁᴅ",
    "e": "еεҽᴇ",
    "g": "ɡԍ",
    "h": "һհ",
    "i": "іιıɩᎥ",
    "j": "јᴊ",
    "k": "кκᴋ",
    "l": "ӏʟ",
    "m": "мᴍ",
    "n": "ոᴎ",
    "o": "оοօᴏσⲟ",
    "p": "рρᴘ",
    "q": "ԛ",
    "r": "гᴦⲅʀ",
    "s": "ѕꜱ",
    "t": "тτᴛ",
    "u": "υսᴜ",
    "v": "νѵᴠ",
    "w": "ԝωᴡ",
    "x": "хχ",
    "y": "уγү",
    "z": "ᴢ",
    "A": "АΑᎪꓮᗅ",
    "B": "ВΒᏴꓐᏼ",
    "C": "СϹᏟꓚᑕⲤ",
    "D": "Ꭰꓓᗞ",
    "E": "ЕΕᎬꓰⲈ",
    "F": "ꓝ",
    "G": "Ꮐꓖ",
    "H": "НΗᎻꓧⲎ",
    "I": "ІΙꓲⲒ",
    "J": "ЈᎫꓙ",
    "K": "КΚᏦꓗⲔ",
    "L": "Ꮮꓡ",
    "M": "МΜᎷꓟⲘ",
    "N": "ΝꓠⲚ",
    "O": "ОΟꓳⲞ",
    "P": "РΡᏢꓑⲢ",
    "R": "Ꮢꓣᖇ",
    "S": "ЅՏᏚꓢ",
    "T": "ТΤᎢꓔⲦ",
    "U": "ꓴ",
    "V": "Ꮩꓦ",
    "W": "Ꮃꓪ",
    "X": "ХΧꓫⲬ",
    "Y": "ҮΥꓬⲨ",
    "Z": "ΖᏃꓜ",
    "-": "‐‑‒–—−",
    "/": "⁄∕",
    "'": "’‘",
    '"': "“”",
    ".": "․",
    ";": ";",
}
_SAME = {other: letter for letter, others in _LOOKS_LIKE.items() for other in others}
# Accents and format characters: a reader does not notice whether they are there.
_UNSEEN = frozenset({"Mn", "Me", "Cf"})
# Nor these, in other categories: Unicode's property Default_Ignorable_Code_Point, DerivedCoreProperties.txt.
_IGNORABLE = re.compile(r"[\u115f\u1160\u2065\u3164\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}")
# Bytes that are not text seldom have a readable run this long.
_READABLE = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]{6,}")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}")
DEEPEST = 3
MOST_FORMS = 200
MOST_CHARACTERS = 1_000_000


class Folded(NamedTuple):
    """A folded text, and the place in the original of each of its characters; the last place is the original's end."""

    text: str
    places: list[int]


def folded(text: str) -> str:
    """A text without invisible characters and accents, in compatible forms, with look-alikes as Latin letters."""
    return text if text.isascii() else "".join(map(_folded, text))


def folded_with_places(text: str) -> Folded:
    """The same, with each character's place in the original."""
    pieces = [_folded(character) for character in text]
    places = [at for at, piece in enumerate(pieces) for _ in piece]
    return Folded("".join(pieces), [*places, len(text)])


def with_folded(pattern: str, field: str) -> str:
    """A pattern that also matches its folded form, because a folded text has no accents."""
    plain = "".join(each if each.isascii() else re.escape(_folded(each)) for each in pattern)
    both = f"(?:{pattern})|(?:{plain})"
    try:
        compiled = compile_pattern(pattern, field), compile_pattern(both, field, is_derived=True)
    except PolicyParametersError:  # such as for a range whose ends are now in reverse order
        return pattern
    # A pattern of only invisible characters folds to the empty pattern, which matches every text.
    is_in_nothing, is_now = (each.search("") is None for each in compiled)
    return both if plain != pattern and is_in_nothing == is_now else pattern


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    if character.isascii():
        return character
    parts = unicodedata.normalize("NFKD", _SAME.get(character, character))
    return "".join(_SAME.get(part, part) for part in parts if _is_seen(part))


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN and not _IGNORABLE.match(character)


def forms(text: str) -> Iterator[str]:
    """Everything that a text says: folded, and decoded from JSON, base64 and percent-encoding, also nested, DEEPEST
    levels deep. Raises ValueError if that is too much to check."""
    level, made, length = [text], 0, 0
    seen: set[str] = set()
    for _ in range(DEEPEST + 1):
        below: list[str] = []
        for each in level:
            plain = folded(each)
            if plain in seen:
                continue
            seen.add(plain)
            made, length = made + 1, length + len(plain)
            if made > MOST_FORMS or length > MOST_CHARACTERS:
                raise ValueError("it has too much encoded content to check")
            yield plain
            below += _decoded(plain)
        level = below


def _decoded(text: str) -> Iterator[str]:
    if _PERCENT.search(text):
        yield unquote(text, errors="replace")
    if text.lstrip()[:1] in ("{", "[", '"'):
        yield from _in_json(text)
    said = "\n".join(_in_base64(text))
    if said:
        yield said


def _in_json(text: str) -> Iterator[str]:
    try:
        level = [decode(text)]
    except ValueError:
        return
    while level:
        item = level.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
            level += item.values()
        elif isinstance(item, list):
            level += item


def _in_base64(text: str) -> Iterator[str]:
    """What is readable when decoded, wherever base64 begins and however it is wrapped: most words resemble it too."""
    bare = "".join(text.split())
    for each in (text,) if bare == text else (text, bare):
        for found in _BASE64.finditer(each):
            for offset in range(4):
                yield from _READABLE.findall(_from_base64(found[0][offset:]))


def _from_base64(text: str) -> str:
    usable = text[:-1] if len(text) % 4 == 1 else text
    bare = usable.replace("-", "+").replace("_", "/")
    return base64.b64decode(bare + "=" * (-len(bare) % 4)).decode(errors="replace")
