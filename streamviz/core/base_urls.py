"""Which base URLs are allowed, which hosts are this machine, and where a server on it is."""

from ipaddress import ip_address
from urllib.parse import urlsplit

# Where this machine reaches its own server that listens on all addresses.
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def wrong_with_url(url: str) -> str:
    """Why calls cannot be made to this base URL, in words to follow its name; empty if they can."""
    try:
        parts = urlsplit(url)
        host, has_user = parts.hostname, "@" in parts.netloc
        _ = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in ("http", "https") or not host:
        return "must begin with http:// or https:// and a host"
    if has_user:
        return "must not contain a user or a password: credentials are taken from the environment"
    if parts.query or parts.fragment or any(each.isspace() or not each.isprintable() for each in url):
        return "must end with its path"
    return ""


def is_loopback(host: str) -> bool:
    """Whether a socket bound to `host` can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def reachable_host(host: str) -> str:
    """The host by which this machine reaches its own server that listens on `host`."""
    return WILDCARDS.get(host, host)


def own_url(host: str, port: int) -> str:
    """The base URL by which this machine reaches its own server that listens there."""
    name = reachable_host(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"
