"""The network's own proxy, the only way by which many companies let calls out: `HTTPS_PROXY` and the like, as other
programs read them."""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def proxy_for(url: str) -> str | None:
    """The proxy for calls to this URL; None if it is called directly."""
    parts = urlsplit(url)
    return _proxy_to(parts.scheme, parts.hostname or "")


@lru_cache(maxsize=256)  # searching the environment takes as long as everything else that a call needs here
def _proxy_to(scheme: str, host: str) -> str | None:
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or proxy_bypass(host) or _is_in(host, _networks(proxies.get("no", ""))):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    return proxy if _can_be_used(proxy) else None


def _is_in(host: str, networks: Iterator[IPv4Network | IPv6Network]) -> bool:
    try:
        address = ip_address(host)
    except ValueError:  # a name
        return False
    return any(address in network for network in networks)


def _networks(names: str) -> Iterator[IPv4Network | IPv6Network]:
    """The networks in `NO_PROXY`, such as `10.0.0.0/8`, which Python's standard library does not support there."""
    for name in names.split(","):
        with suppress(ValueError):
            yield ip_network(name.strip(), strict=False)


def _can_be_used(proxy: str) -> bool:
    """Whether it is an HTTP proxy: SOCKS is not supported."""
    try:
        parts = urlsplit(proxy)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number
        return False


def leave_out_this_machine() -> None:
    """Keep everything in this process, LiteLLM included, from calling programs on this machine by way of a proxy: there
    the same address is the proxy's own machine."""
    named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if named.strip() != "*":  # which means everything, but only by itself
        names = dict.fromkeys([*filter(None, named.split(",")), *_THIS_MACHINE])
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(names)
    _proxy_to.cache_clear()
