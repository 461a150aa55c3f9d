"""Connections that proxies keep for their next request, which may be on its way when the server is told to stop.

A proxy that finds such a connection closed cannot tell whether its request was begun. It does not send a call to
another server if a model may have begun to answer it, and its client gets a 502. So these connections stay open, and
whatever comes on one is answered with `connection: close`. The proxy itself closes those for which it has no use: nginx
after `keepalive_timeout`.
"""

from typing import Any
from weakref import WeakSet

from streamviz.serving.forwarding import Networks, is_in


class KeptByProxies:
    """The connections of trusted proxies. For any other connection, nobody in between would answer in our place."""

    def __init__(self, proxies: Networks) -> None:
        self._proxies = proxies
        self._protocols: WeakSet[Any] = WeakSet()

    def add(self, protocol: Any, address: Any) -> None:
        """Note a connection from an address of Twisted's, if that is a trusted proxy's."""
        if is_in(address.host, self._proxies):
            self._protocols.add(protocol)

    def may_bring_requests(self) -> bool:
        """Whether one is open on which no request is being answered: it waits for one, or has part of one."""
        return any(_waits(protocol) for protocol in self._protocols)


def _waits(protocol: Any) -> bool:
    channel = protocol._channel
    transport = channel.transport
    is_open = transport.connected and not transport.disconnecting and transport.protocol is protocol
    is_refused = getattr(channel, "is_refused", False)  # nothing more is read from it
    return is_open and not is_refused and not any(request.application_queue is not None for request in channel.requests)
