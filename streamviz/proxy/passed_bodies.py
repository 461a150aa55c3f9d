"""What is recorded of the body of a call that passes through unread: all but the credentials that it has for others, in
JSON, lines of JSON and forms (`passed_values`). No other kind of body is looked through."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote_plus, unquote_to_bytes

from django.conf import settings

from streamviz.core.json_value import has_more_values
from streamviz.core.request_credentials import MASK
from streamviz.proxy.passed_values import LONGEST_NAME, is_json, is_secret, known_json, known_text

_FORM = "application/x-www-form-urlencoded"
_IN_PARTS = "multipart/"
# A field of a form takes as long as so many values of JSON.
_FOR_A_FIELD = 20
_TOO_MANY = b"(more values than MAX_VALUES)"
# An object or a list in a line of its own, as batches have them, also where a form has such a file.
_LINE = re.compile(rb"\n(?:\xef\xbb\xbf)?[ \t]*+([{\[].*)")
# About how many bytes are looked at in one go: other threads wait meanwhile.
_PIECE = 2**16
# The delimiter between the parts of a form (RFC 2046, 5.1.1).
BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
# The head of a part ends with a blank line; a line that begins with a blank continues the one before.
_LONGEST_HEAD = 2**14
_HEAD_TOO_LONG = b"(a part whose head is too long)"
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_CONTINUED = re.compile(rb"\r?\n(?=[ \t])")
_DISPOSITION = re.compile(rb"^content-disposition[ \t]*:(.*)", re.IGNORECASE | re.MULTILINE)
_NAME = re.compile(
    rb""";[ \t]*+name(?:\*[ \t]*+=[^';]*+'[^';]*+'|[ \t]*+=[ \t]*+)(?:"((?:[^"\\]|\\.)*+)|'?([^';\s]*+))""",
    re.IGNORECASE,
)
_IS_FILE = re.compile(rb";[ \t]*+filename\*?+[ \t]*+=", re.IGNORECASE)


def without_credentials_in(body: bytes, kind: str) -> bytes:
    """The body, of this content type, with a mask in place of each such credential; the same if it has none."""
    most: int = settings.ANSWER_BOUNDS.values
    what = kind.partition(";")[0].strip().lower()
    if what == _FORM:
        return _fields(body, b"&", _pair, _quoted, most)
    if what.startswith(_IN_PARTS):
        return _lines(_fields(body, _between(body, kind), _part, str.encode, most), most)
    if is_json(body):
        if has_more_values(body, most):
            return _TOO_MANY
        with suppress(ValueError):  # it may be lines of JSON
            return known_json(body)
    return _lines(body, most)


def _lines(body: bytes, most: int) -> bytes:
    pieces = list(_pieces(b"\n" + body, b"\n"))
    lines: list[bytes] = []
    for piece in pieces:
        lines += _LINE.findall(piece)
        if len(lines) > most:
            return _TOO_MANY
    if has_more_values(b",".join(lines), most):
        return _TOO_MANY
    return b"".join(_LINE.sub(_line, piece) for piece in pieces)[1:]


def _pieces(data: bytes, first: bytes) -> Iterator[bytes]:
    """Cut it where this byte is, with which each piece but the first begins."""
    start = 0
    while start < len(data):
        end = data.find(first, start + _PIECE)
        yield data[start : end if end > 0 else len(data)]
        start = end if end > 0 else len(data)


def _line(found: re.Match[bytes]) -> bytes:
    with suppress(ValueError):
        known = known_json(found[1])
        return found[0] if known is found[1] else b"\n" + known
    return found[0]


class _Field(NamedTuple):
    """A field of a form, `whole` as it came: its text is between `before` and `after`."""

    whole: bytes
    before: bytes
    name: str
    text: bytes
    after: bytes = b""
    is_file: bool = False


def _fields(
    body: bytes, between: bytes, read: Callable[[bytes], _Field], written: Callable[[str], bytes], most: int
) -> bytes:
    """A form, with what may be recorded of each of its fields."""
    if body.count(between) >= most // _FOR_A_FIELD:
        return _TOO_MANY
    fields = list(map(read, body.split(between)))
    if has_more_values(b",".join(field.text for field in fields if is_json(field.text)), most):
        return _TOO_MANY
    return between.join(_kept(field, written) for field in fields)


def _kept(field: _Field, written: Callable[[str], bytes]) -> bytes:
    if not field.is_file:
        text = field.text.decode("utf-8", "replace")
        known = known_text(field.name, text)
        return field.whole if known == text else field.before + written(known) + field.after
    if is_secret(field.name, MASK):
        return field.before + written(MASK) + field.after
    if is_json(field.text):
        with suppress(ValueError):  # it may be lines of JSON
            return field.before + known_json(field.text) + field.after
    return field.whole


def _pair(pair: bytes) -> _Field:
    """A field of a form that is written as a query is."""
    name, equals, value = pair.partition(b"=")
    told = _unquoted(name[: 4 * LONGEST_NAME]).decode("utf-8", "replace")
    return _Field(pair, name + equals, told, _unquoted(value))


def _unquoted(value: bytes) -> bytes:
    """What a query says. In one go it would take 80 times as much memory if all of it is escaped."""
    pieces = _pieces(value.replace(b"+", b" "), b"%")
    return b"".join(map(unquote_to_bytes, pieces))


def _quoted(text: str) -> bytes:
    return quote_plus(text, safe="*").encode()


def _between(body: bytes, kind: str) -> bytes:
    """What is between the parts of a body, by its content type, or else by its first line."""
    if boundary := BOUNDARY.search(kind):
        between = f"--{boundary[1] or boundary[2]}".encode()
        if between in body:
            return between
    return body.lstrip().partition(b"\n")[0].rstrip() or b"--"


def _part(part: bytes) -> _Field:
    """A part of a form, or of another body in parts, where it has no name."""
    blank = _BLANK_LINE.search(part, 0, _LONGEST_HEAD)
    if blank is None:
        whole = part if len(part) <= _LONGEST_HEAD else _HEAD_TOO_LONG
        return _Field(whole, b"", "", whole, is_file=True)
    said = _DISPOSITION.search(_CONTINUED.sub(b"", part[: blank.start()]))
    disposition = said[1] if said else b""
    name = _NAME.search(disposition)
    told = unquote_to_bytes(name[1] or name[2] or b"").decode("utf-8", "replace") if name else ""
    end = len(part) - (2 if part.endswith(b"\r\n") else part.endswith(b"\n"))
    is_file = name is None or bool(_IS_FILE.search(disposition))
    return _Field(part, part[: blank.end()], told, part[blank.end() : end], part[end:], is_file)
