"""Text from models and clients, made readable."""

import re

# Control characters would be dropped or take effect; bidirectional overrides can make text read as something else; half
# of a surrogate pair cannot be sent; characters without width, such as tags and fillers, hide from people what a model
# reads. Each is shown for what it is. Joiners, direction marks and emoji selectors stay: ordinary writing needs them.
_UNREADABLE = (
    (0x00, 0x08),
    (0x0B, 0x0C),
    (0x0E, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180E, 0x180E),
    (0x200B, 0x200B),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
_EACH_UNREADABLE = re.compile(f"([{''.join(f'{chr(first)}-{chr(last)}' for first, last in _UNREADABLE)}])")


def _name(code: int) -> str:
    if code == 0:
        return "\ufffd"  # as in the record: Postgres text cannot hold it
    if code < 0x20:
        return chr(0x2400 + code)
    return f"⟨U+{code:04X}⟩"


_NAMES = {chr(code): _name(code) for first, last in _UNREADABLE for code in range(first, last + 1)}


def printable(text: str) -> str:
    """The text with unreadable characters replaced by their names. It still has to be escaped for HTML."""
    parts = _EACH_UNREADABLE.split(text)
    if len(parts) == 1:
        return text
    # A table, as calling a function for each would take seconds if a text has nothing else.
    parts[1::2] = map(_NAMES.__getitem__, parts[1::2])
    return "".join(parts)


def one_line(text: str, most: int) -> str:
    """The beginning of a text, on one line."""
    return printable(" ".join(text[: most * 2].split())[:most])


def plain_reason(reason: str, name: str) -> str:
    """A policy's reason without the block's name and the verdict, which are shown beside it."""
    return reason.removeprefix(f"{name} is denied: ")


def last_line(text: str, most: int) -> str:
    """The end of a text, on one line."""
    return printable(" ".join(text[-most * 2 :].split())[-most:])
