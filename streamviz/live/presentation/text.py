"""Text from models and clients, as people can read it."""

import re

# Controls would be dropped or act; bidirectional overrides can make text read as another; half a surrogate pair
# cannot be sent at all. Each is shown for what it is.
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with characters that cannot be read named instead. It still has to be escaped for HTML."""
    return _UNREADABLE.sub(_name, text)


def _name(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 0:
        return "\ufffd"  # as in the record: Postgres' texts cannot hold it
    if code < 0x20:
        return chr(0x2400 + code)
    return f"⟨U+{code:04X}⟩"


def one_line(text: str, most: int) -> str:
    """The beginning of a text, on one line."""
    return printable(" ".join(text[: most * 2].split())[:most])


def plain_reason(reason: str, name: str) -> str:
    """A policy's reason, where it is told beside the name of what it is about and the verdict."""
    return reason.removeprefix(f"{name} is denied: ")


def last_line(text: str, most: int) -> str:
    """The end of a text, on one line."""
    return printable(" ".join(text[-most * 2 :].split())[-most:])
