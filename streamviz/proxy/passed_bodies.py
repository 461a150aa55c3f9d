"""What is recorded of the body of a call that passes through unread: all but the credentials that it has for others, in
JSON, lines of JSON and forms, where requests have a place for them and wherever they are named as such. No other kind
of body is looked through."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import is_not
from urllib.parse import quote_plus, unquote_to_bytes

from django.conf import settings

from streamviz.core.json_value import as_object, decode, encode, has_more_values, is_too_deep
from streamviz.core.request_credentials import MASK, without_credentials

_FORM = "application/x-www-form-urlencoded"
_FORM_IN_PARTS = "multipart/form-data"
# A field of a form takes as long as so many values of JSON.
_FOR_A_FIELD = 20
_TOO_MANY = b"(more values than MAX_VALUES)"
_TOO_DEEP = b"(nested too deeply)"
_BEFORE = b"\xef\xbb\xbf \t\r\n"
# An object or a list in a line of its own, as batches have them, also where a form has such a file.
_LINE = re.compile(rb"\n(?:\xef\xbb\xbf)?[ \t]*+([{\[].*)")
# About how many bytes are looked at in one go: other threads wait meanwhile.
_PIECE = 2**16
# The name of a form's part, and the steps of a field's name, such as `tools[0][headers][x]`.
_NAME = re.compile(rb';[ \t]*+name="?([^";\r\n]*+)')
_STEP = re.compile(r"[^\[\].]+")
_LONGEST_NAME, _MOST_STEPS = 1_000, 20
# How names of credentials end, in lower case without underscores and hyphens.
_HYPHENS = str.maketrans("", "", "_-")
_SECRET = (
    *("authorization", "credentials", "passphrase", "password", "secret"),
    *(f"{what}key" for what in ("access", "api", "private", "secret")),
    *(f"{what}token" for what in "access ad api auth authorization bearer id refresh security session".split()),
)


def without_credentials_in(body: bytes, kind: str) -> bytes:
    """The body, of this content type, with a mask in place of each such credential; the same if it has none."""
    most: int = settings.ANSWER_BOUNDS.values
    kind = kind.strip().lower()
    if kind == _FORM:
        return _fields(body, b"&", _pair, most)
    if kind == _FORM_IN_PARTS:
        boundary = body.lstrip().partition(b"\r\n")[0] or b"--"
        return _lines(_fields(body, boundary, _part, most), most)
    if (data := body.lstrip(_BEFORE))[:1] in (b"{", b"["):
        if has_more_values(body, most):
            return _TOO_MANY
        if is_too_deep(data):
            return _TOO_DEEP
        with suppress(ValueError):  # it may be lines of JSON
            return _json(data, body)
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
    if is_too_deep(found[1]):
        return b"\n" + _TOO_DEEP
    with suppress(ValueError):
        known = _json(found[1], found[1])
        return found[0] if known is found[1] else b"\n" + known
    return found[0]


def _json(data: bytes, otherwise: bytes) -> bytes:
    """JSON without credentials; `otherwise` if it has none. Raises ValueError for anything else."""
    value = decode(data)
    known = _known(value)
    return otherwise if known is value else encode(known)


def _known(value: object) -> object:
    """What may be recorded of a JSON value: the same object if that is all of it."""
    asked = {"requests": value}
    return _without_secrets(without_credentials(asked, encode(asked))["requests"])


def _without_secrets(value: object) -> object:
    """A JSON value with a mask in place of each text, or list of texts, that is named as a credential; the same object
    if none is."""
    if isinstance(value, list):
        items = list(map(_without_secrets, value))
        return items if any(map(is_not, items, value)) else value
    if not isinstance(value, dict):
        return value
    members = {name: MASK if _is_secret(name, member) else _without_secrets(member) for name, member in value.items()}
    return members if any(map(is_not, members.values(), value.values())) else value


def _is_secret(name: str, member: object) -> bool:
    texts = member if isinstance(member, list) else [member]
    if not texts or not isinstance(texts[0], str):
        return False
    is_named = name[-_LONGEST_NAME:].lower().translate(_HYPHENS).endswith(_SECRET)
    return is_named and all(isinstance(text, str) for text in texts)


def _fields(body: bytes, between: bytes, known: Callable[[bytes], bytes], most: int) -> bytes:
    """A form, with what is `known` of each of its fields."""
    if body.count(between) >= most // _FOR_A_FIELD:
        return _TOO_MANY
    return between.join(map(known, body.split(between)))


def _pair(pair: bytes) -> bytes:
    """A field of a form that is written as a query is."""
    name, _, value = pair.partition(b"=")
    text = _unquoted(value)
    known = _field(_unquoted(name[: 4 * _LONGEST_NAME]), text)
    return pair if known == text else b"%s=%s" % (name, quote_plus(known, safe="*").encode())


def _unquoted(value: bytes) -> str:
    """What a query says. In one go it would take 80 times as much memory if all of it is escaped."""
    pieces = _pieces(value.replace(b"+", b" "), b"%")
    return b"".join(map(unquote_to_bytes, pieces)).decode("utf-8", "replace")


def _part(part: bytes) -> bytes:
    """A field of a form in parts; a part that is a file is left as it is."""
    head, blank, value = part.partition(b"\r\n\r\n")
    told = head[: 2 * _LONGEST_NAME].lower()
    name = _NAME.search(told)
    if name is None or b"filename" in told:
        return part
    text, end, _ = value.rpartition(b"\r\n")
    said = text.decode("utf-8", "replace")
    known = _field(name[1].decode("utf-8", "replace"), said)
    return part if known == said else head + blank + known.encode() + end


def _field(name: str, text: str) -> str:
    """What may be recorded of a field, whose name may be the way to a place in a request."""
    steps = [step for step in _STEP.findall(name[:_LONGEST_NAME]) if not step.isdigit()]
    if len(name) > _LONGEST_NAME or len(steps) > _MOST_STEPS:
        return _TOO_DEEP.decode()
    value: object = text
    for step in reversed(steps):
        value = {step: value}
    known = _known(value)
    while isinstance(known, dict):
        known = next(iter(as_object(known).values()))
    return str(known)
