"""What is recorded of the body of a call that passes through unread: all but the credentials that it has for others,
where JSON, lines of JSON and plain forms have a place for them. No other kind of body is looked through."""

import re
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote_plus, unquote_plus

from django.conf import settings

from streamviz.core.json_value import as_text, decode, encode, has_more_values, is_too_deep
from streamviz.core.request_credentials import without_credentials

_FORM = "application/x-www-form-urlencoded"
# A field of such a form takes as long as so many values of JSON.
_FOR_A_FIELD = 20
_TOO_MANY = b"(more values than MAX_VALUES)"
_TOO_DEEP = b"(nested too deeply)"
_BEFORE = b"\xef\xbb\xbf \t\r\n"
# An object or a list in a line of its own, as batches have them, also where a form has such a file.
_LINE = re.compile(rb"\n(?:\xef\xbb\xbf)?[ \t]*([{\[].*)")
# About how many bytes are looked at in one go: other threads wait meanwhile.
_PIECE = 2**16


def without_credentials_in(body: bytes, kind: str) -> bytes:
    """The body, of this content type, with a mask in place of each such credential; the same if it has none."""
    most: int = settings.ANSWER_BOUNDS.values
    if kind.strip().lower() == _FORM:
        return b"&".join(map(_pair, body.split(b"&"))) if body.count(b"&") < most // _FOR_A_FIELD else _TOO_MANY
    if (data := body.lstrip(_BEFORE))[:1] in (b"{", b"["):
        if has_more_values(body, most):
            return _TOO_MANY
        if is_too_deep(data):
            return _TOO_DEEP
        with suppress(ValueError):  # it may be lines of JSON
            return _json(data, body)
    return _lines(body, most)


def _lines(body: bytes, most: int) -> bytes:
    pieces = list(_pieces(b"\n" + body))
    lines: list[bytes] = []
    for piece in pieces:
        lines += _LINE.findall(piece)
        if len(lines) > most:
            return _TOO_MANY
    if has_more_values(b",".join(lines), most):
        return _TOO_MANY
    return b"".join(_LINE.sub(_line, piece) for piece in pieces)[1:]


def _pieces(body: bytes) -> Iterator[bytes]:
    """Cut the body where lines begin."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start + _PIECE)
        yield body[start : end if end > 0 else len(body)]
        start = end if end > 0 else len(body)


def _line(found: re.Match[bytes]) -> bytes:
    with suppress(ValueError):
        known = _json(found[1], found[1])
        return found[0] if known is found[1] else b"\n" + known
    return found[0]


def _json(data: bytes, otherwise: bytes) -> bytes:
    """JSON without credentials; `otherwise` if it has none. Raises ValueError for anything else."""
    asked = {"requests": decode(data)}
    known = without_credentials(asked, encode(asked))
    return otherwise if known is asked else encode(known["requests"])


def _pair(pair: bytes) -> bytes:
    """A field of a form that is written as a query is."""
    name, _, value = pair.decode("utf-8", "replace").partition("=")
    fields: dict[str, object] = {unquote_plus(name): unquote_plus(value)}
    known = without_credentials(fields, encode(fields))
    return pair if known is fields else f"{name}={quote_plus(as_text(*known.values()), safe='*')}".encode()
