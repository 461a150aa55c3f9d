"""The little HTTP that the endpoints need, on plain ASGI."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qs

from asgiref.typing import ASGIReceiveCallable, ASGIReceiveEvent, ASGISendCallable, ASGISendEvent, HTTPScope
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.proxy.paths import is_gemini
from streamviz.proxy.unpacking import require_known, too_large, unpacked

# Anthropic's, Azure's and Google's.
_KEY_HEADERS = (b"x-api-key", b"api-key", b"x-goog-api-key")
# RFC 9110, section 5.5: values contain no control character but the tab. Nothing that forwards headers would take them.
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

# The header of an answer that names the stream that the call became.
STREAM = "x-streamviz-stream"

# Returns the value of a request's header, or an empty string.
Header = Callable[[bytes], str]


class CannotEnd(Exception):
    """An answer that began as a success cannot be completed: the connection must be cut, or the client would take what
    it has for the whole answer."""


class ClientGone(Exception):
    """The client left before its request was complete."""


class Answering:
    """An application's `send` that knows whether an answer has begun."""

    def __init__(self, send: ASGISendCallable) -> None:
        self._send = send
        self.has_begun = False

    def __call__(self, event: ASGISendEvent) -> Awaitable[None]:
        self.has_begun = True
        return self._send(event)


def adding(send: ASGISendCallable, headers: Mapping[str, str]) -> ASGISendCallable:
    """An application's `send` that adds these headers to the head of the answer."""
    added = _as_bytes(headers)

    def take(event: ASGISendEvent) -> Awaitable[None]:  # not a coroutine, as it is called for each chunk
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event["headers"], *added]}
        return send(event)

    return take


def without_body(send: ASGISendCallable) -> ASGISendCallable:
    """An application's `send` for a request that asks only for the head."""

    async def take(event: ASGISendEvent) -> None:
        if event["type"] == "http.response.body":
            event = {**event, "body": b""}
        await send(event)

    return take


def text_of(value: bytes) -> str:
    """Decode a header's value. Most clients send UTF-8; JavaScript sends Latin-1, which is hardly ever valid UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def require_plain_headers(scope: HTTPScope) -> None:
    """Raises RequestError (400) if a header's value has a control character."""
    if _CONTROL.search(b"".join(value for _, value in scope["headers"])):
        name = next(name for name, value in scope["headers"] if _CONTROL.search(value)).decode()
        raise RequestError(400, f"The header {name} has a control character.", code="invalid_header")


def header(scope: HTTPScope, name: bytes) -> str:
    """A request header's value, or an empty string if it was not sent."""
    for key, value in scope["headers"]:
        if key == name:
            return text_of(value)
    return ""


def header_reader(scope: HTTPScope) -> Header:
    """The same, for a request in which many headers are looked up."""
    values = dict(reversed(list(scope["headers"])))
    return lambda name: text_of(values[name]) if name in values else ""


class Credential(NamedTuple):
    """A credential that a client sent, and the header that it came in; a key in the query counts as Google's header."""

    secret: str
    header: str


def credentials(scope: HTTPScope) -> list[Credential]:
    """The credentials that the client sent: bearer tokens, keys in the vendors' headers, and Google's key in the query.
    Some clients send several."""
    found: list[tuple[str, str]] = []
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, token = text_of(value).partition(" ")
            found += [(token, "authorization")] if scheme.lower() == "bearer" else []
        elif name in _KEY_HEADERS:
            found.append((text_of(value), name.decode()))
    if is_gemini(scope["path"]):
        query = parse_qs(scope["query_string"].decode("latin-1"))
        found += [(key, "x-goog-api-key") for key in query.get("key", ()) if key.isprintable()]  # it becomes a header
    return [Credential(secret.strip(), header) for secret, header in found if secret.strip()]


def without_encoding(scope: HTTPScope) -> HTTPScope:
    """The same request once its body is unpacked."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-encoding"]
    return {**scope, "headers": headers}


def receiving(body: bytes, receive: ASGIReceiveCallable) -> ASGIReceiveCallable:
    """A `receive` for a request whose body has already been read."""
    given: list[ASGIReceiveEvent] = [{"type": "http.request", "body": body, "more_body": False}]

    async def take() -> ASGIReceiveEvent:
        return given.pop() if given else await receive()

    return take


def require_length(length: int) -> None:
    """Raises RequestError (413) for a body longer than the limit."""
    if length > settings.MAX_REQUEST_BYTES:
        raise too_large()


async def read_body(scope: HTTPScope, receive: ASGIReceiveCallable) -> bytes:
    """The whole request body, unpacked. Raises RequestError if it is too long (413), or compressed in an unknown way
    (415) or wrongly (400), and ClientGone if the client leaves."""
    encoding = header(scope, b"content-encoding")
    require_known(encoding)
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        size += len(message["body"])
        require_length(size)
        pieces.append(message["body"])
        if not message["more_body"]:
            return await unpacked(b"".join(pieces), encoding)


async def start(send: ASGISendCallable, status: int, headers: dict[str, str]) -> None:
    """Send the head of a response. Browsers must not guess another content type, since models write the content. Caches
    must not keep it for others, since none knows all headers that keys come in."""
    headers = {"cache-control": "no-store", **headers, "x-content-type-options": "nosniff"}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": _as_bytes(headers),
            "trailers": False,
        }
    )


def _as_bytes(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Encode as UTF-8. Bytes of upstream's that are not UTF-8 come as surrogates, and become the same bytes again."""
    return [(name.encode(), value.encode(errors="surrogateescape")) for name, value in headers.items()]


def body(send: ASGISendCallable, data: bytes, more: bool = False) -> Awaitable[None]:
    """Send a piece of the body; the last one ends the response."""
    return send({"type": "http.response.body", "body": data, "more_body": more})


async def respond(send: ASGISendCallable, status: int, headers: dict[str, str], data: bytes) -> None:
    """Send a whole response."""
    await start(send, status, {**headers, "content-length": str(len(data))})
    await body(send, data)
