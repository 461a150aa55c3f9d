"""The little of HTTP that the endpoints need, on plain ASGI."""

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import RequestError

MAX_BODY_BYTES = 32 * 1024 * 1024


class ClientGone(Exception):
    """The client left before its request was whole."""


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


async def read_body(receive: ASGIReceiveCallable) -> bytes:
    """The whole request body. Raises RequestError (413) past the limit, ClientGone when the client leaves."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        size += len(message["body"])
        if size > MAX_BODY_BYTES:
            raise RequestError(413, f"The request is larger than {MAX_BODY_BYTES // 2**20} MiB.", code="too_large")
        pieces.append(message["body"])
        if not message["more_body"]:
            return b"".join(pieces)


async def start(send: ASGISendCallable, status: int, headers: dict[str, str]) -> None:
    """Send the head of a response."""
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
