"""Who a request comes from if proxies are in front of the server: they say so in X-Forwarded-For and -Proto.

Anybody can send these headers. They count only as far as trusted proxies added to them, read from the right.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

Networks = tuple[IPv4Network | IPv6Network, ...]

# An address that may have a port; an IPv6 address is in brackets then.
_PORTED = re.compile(r"(?:([\d.]+)|\[([\da-f:.]+)\])(?::\d+)?", re.IGNORECASE)
_SECURE = {"http": "https", "ws": "wss"}


def forwarded(scope: dict[str, Any], proxies: Networks) -> dict[str, Any]:
    """The scope of a request, with the client and the scheme that trusted proxies report."""
    scheme = scope.get("scheme") or ("ws" if scope["type"] == "websocket" else "http")
    scope = {**scope, "scheme": scheme}
    client = scope["client"]
    if not client or not is_in(client[0], proxies):
        return scope
    if _said(scope, b"x-forwarded-proto")[-1:] == ["https"]:
        scope["scheme"] = _SECURE.get(scheme, scheme)
    for word in reversed(_said(scope, b"x-forwarded-for")):
        address = _without_port(word)
        if not _is_address(address):
            break  # nobody vouches for what precedes it
        scope["client"] = [address, 0]  # its port is seldom reported
        if not is_in(address, proxies):
            break
    return scope


def is_in(text: str, networks: Networks) -> bool:
    """Whether it is an address in one of these networks."""
    return bool(networks) and _is_address(text) and any(_plain(text) in network for network in networks)


def _said(scope: dict[str, Any], name: bytes) -> list[str]:
    """The values of a header that may come several times, each as a comma-separated list."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    lines = [value.decode("latin-1") for key, value in headers if key == name]
    return [word.strip() for line in lines for word in line.split(",")]


def _without_port(word: str) -> str:
    """An address without the client's port, which some proxies add, such as Azure's."""
    found = _PORTED.fullmatch(word)
    return (found[1] or found[2]) if found else word


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _plain(text: str) -> Any:
    """The address, as plain IPv4 if it came over IPv6."""
    address = ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address
