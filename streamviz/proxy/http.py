"""The little of HTTP that the endpoints need, on plain ASGI."""

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
# RFC 9110, section 5.5: no value has any but the tab. Nothing that sends headers on would take them.
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

# Gives a request's header, the empty text where it has none.
Header = Callable[[bytes], str]


class CannotEnd(Exception):
    """An answer was begun as a success and cannot be one any more: the connection is to be cut, or the client would
    take what it has for an answer."""


class ClientGone(Exception):
    """The client left before its request was whole."""


class Answering:
    """An application's `send` that knows whether an answer has begun."""

    def __init__(self, send: ASGISendCallable) -> None:
        self._send = send
        self.has_begun = False

    def __call__(self, event: ASGISendEvent) -> Awaitable[None]:
        self.has_begun = True
        return self._send(event)


def adding(send: ASGISendCallable, headers: Mapping[str, str]) -> ASGISendCallable:
    """An application's `send` that puts these headers into the head of the answer."""
    added = _as_bytes(headers)

    def take(event: ASGISendEvent) -> Awaitable[None]:  # no coroutine, as it is called with each chunk
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event["headers"], *added]}
        return send(event)

    return take


def without_body(send: ASGISendCallable) -> ASGISendCallable:
    """An application's `send` for a request that asks for the head alone."""

    async def take(event: ASGISendEvent) -> None:
        if event["type"] == "http.response.body":
            event = {**event, "body": b""}
        await send(event)

    return take


def text_of(value: bytes) -> str:
    """A header's value. Most clients send UTF-8, JavaScript's Latin-1, which UTF-8 hardly ever looks like."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def require_plain_headers(scope: HTTPScope) -> None:
    """Raises RequestError (400) where a header's value has a control character."""
    if _CONTROL.search(b"".join(value for _, value in scope["headers"])):
        name = next(name for name, value in scope["headers"] if _CONTROL.search(value)).decode()
        raise RequestError(400, f"The header {name} has a control character.", code="invalid_header")


def header(scope: HTTPScope, name: bytes) -> str:
    """A request header's value, the empty text when it was not sent."""
    for key, value in scope["headers"]:
        if key == name:
            return text_of(value)
    return ""


def header_reader(scope: HTTPScope) -> Callable[[bytes], str]:
    """The same, for a request of which many headers are looked up."""
    values = dict(reversed(list(scope["headers"])))
    return lambda name: text_of(values[name]) if name in values else ""


class Credential(NamedTuple):
    """What a client sent as one, and the header that it came in; a key in the query counts as in Google's."""

    secret: str
    header: str


def credentials(scope: HTTPScope) -> list[Credential]:
    """What the client sent: bearer tokens, keys in the vendors' headers, and Google's in the query. Some clients send
    several."""
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
    """The same request with its body unpacked."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-encoding"]
    return {**scope, "headers": headers}


def receiving(body: bytes, receive: ASGIReceiveCallable) -> ASGIReceiveCallable:
    """`receive` of a request whose body has been read, and is this one now."""
    given: list[ASGIReceiveEvent] = [{"type": "http.request", "body": body, "more_body": False}]

    async def take() -> ASGIReceiveEvent:
        return given.pop() if given else await receive()

    return take


def require_length(length: int) -> None:
    """Raises RequestError (413) for a body of more bytes than may be."""
    if length > settings.MAX_REQUEST_BYTES:
        raise too_large()


async def read_body(scope: HTTPScope, receive: ASGIReceiveCallable) -> bytes:
    """The whole request body, unpacked. Raises RequestError past the limit (413) or where it is compressed in a way
    that nobody knows (415) or wrongly (400), ClientGone when the client leaves."""
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
    """Send the head of a response. What it is, it is to be for a browser too: models write what is in it. No cache on
    the way keeps it for others, as none knows all headers that keys come in."""
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
    """As UTF-8. Upstream's own bytes that are none come as surrogates, and become what they were."""
    return [(name.encode(), value.encode(errors="surrogateescape")) for name, value in headers.items()]


def body(send: ASGISendCallable, data: bytes, more: bool = False) -> Awaitable[None]:
    """Send a piece of the body; the last one ends the response."""
    return send({"type": "http.response.body", "body": data, "more_body": more})


async def respond(send: ASGISendCallable, status: int, headers: dict[str, str], data: bytes) -> None:
    """Send a whole response."""
    await start(send, status, {**headers, "content-length": str(len(data))})
    await body(send, data)
