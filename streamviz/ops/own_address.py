"""Clients' settings in the shell that starts streamviz: an address that leads back to it, in place of a provider's."""

import os
import re
from contextlib import suppress
from urllib.parse import urlsplit

from streamviz.ops.welcome import say

_ADDRESSES = re.compile(r"[A-Z_]+_(BASE_URL|API_BASE)")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def forget_own_address(host: str, port: int) -> None:
    """Take it out of the environment, so that the provider is called at its own: every call would come back here. What
    starts later has none of it either."""
    for name in [name for name in os.environ if _ADDRESSES.fullmatch(name)]:
        if _leads_to(os.environ[name], (host, *_THIS_MACHINE), port):
            del os.environ[name]
            say(f"{name} is this server's own address, which is for clients, so it is ignored here")


def _leads_to(url: str, hosts: tuple[str, ...], port: int) -> bool:
    with suppress(ValueError):  # no URL, which is for others to say
        found = urlsplit(url.strip())
        return found.hostname in hosts and (found.port or {"http": 80, "https": 443}.get(found.scheme)) == port
    return False
