"""The little of HTTP that the endpoints need, on plain ASGI."""

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, HTTPScope
from django.conf import settings

from streamviz.core.bounds import MIB
from streamviz.core.errors import RequestError


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

    async def __call__(self, event: ASGISendEvent) -> None:
        self.has_begun = True
        await self._send(event)


def header(scope: HTTPScope, name: bytes) -> str:
    """A request header's value, the empty text when it was not sent."""
    for key, value in scope["headers"]:
        if key == name:
            return value.decode("latin-1")
    return ""


def credentials(scope: HTTPScope) -> list[str]:
    """What the client sent as a credential: bearer tokens, and Anthropic's `x-api-key`. Some clients send several."""
    found: list[str] = []
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, token = value.decode("latin-1").partition(" ")
            found += [token.strip()] if scheme.lower() == "bearer" else []
        elif name == b"x-api-key":
            found.append(value.decode("latin-1").strip())
    return [credential for credential in found if credential]


def require_length(length: int) -> None:
    """Raises RequestError (413) for a body of more bytes than may be."""
    if length > settings.MAX_REQUEST_BYTES:
        raise RequestError(
            413, f"The request is larger than {settings.MAX_REQUEST_BYTES / MIB:g} MiB.", code="too_large"
        )


def require_plain(encoding: str) -> None:
    """Raises RequestError (415) for a body that is compressed: nobody knows how long it is."""
    if encoding and encoding.lower() != "identity":
        raise RequestError(415, "A request must not be compressed.", code="unsupported_encoding")


async def read_body(scope: HTTPScope, receive: ASGIReceiveCallable) -> bytes:
    """The whole request body. Raises RequestError past the limit (413) or where it is compressed (415), ClientGone when
    the client leaves."""
    require_plain(header(scope, b"content-encoding"))
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
            return b"".join(pieces)


async def start(send: ASGISendCallable, status: int, headers: dict[str, str]) -> None:
    """Send the head of a response. What it is, it is to be for a browser too: models write what is in it."""
    headers = {**headers, "x-content-type-options": "nosniff"}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()],
            "trailers": False,
        }
    )


async def body(send: ASGISendCallable, data: bytes, more: bool = False) -> None:
    """Send a piece of the body; the last one ends the response."""
    await send({"type": "http.response.body", "body": data, "more_body": more})


async def respond(send: ASGISendCallable, status: int, headers: dict[str, str], data: bytes) -> None:
    """Send a whole response."""
    await start(send, status, {**headers, "content-length": str(len(data))})
    await body(send, data)
