"""Which headers of a client's request the provider is to see: all that are meant for it."""

from collections.abc import Iterator

from asgiref.typing import HTTPScope

# Of a connection, of a body that is rewritten, of a browser or a proxy on the way, or a credential.
_OURS = frozenset(
    b"connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect host content-length"
    b" content-encoding content-type accept-encoding authorization proxy-authorization proxy-authenticate x-api-key"
    b" api-key x-goog-api-key cookie origin referer forwarded via x-real-ip x-session-id".split()
)
_FAMILIES = (b"x-streamviz-", b"x-forwarded-", b"sec-", b"access-control-", b"cf-", b"x-simulator-")


def end_to_end(scope: HTTPScope) -> dict[str, str]:
    """Those headers. Of one that came several times, the values stand behind one another."""
    found: dict[str, str] = {}
    for name, value in _passed_on(scope):
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _passed_on(scope: HTTPScope) -> Iterator[tuple[str, str]]:
    of_connection = {
        name.strip().lower()
        for header, value in scope["headers"]
        if header == b"connection"
        for name in value.split(b",")
    }
    for name, value in scope["headers"]:
        if name not in _OURS and name not in of_connection and not name.startswith(_FAMILIES):
            yield name.decode("latin-1"), value.decode("latin-1")
