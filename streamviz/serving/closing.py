"""Closing a listening socket without cutting anybody off.

Clients that the system has connected, but the server has not accepted yet, are cut off when the socket is closed. A
proxy may have sent its request by then, and may not send it again. So the system is first told to connect nobody more.

That is done by the hops that a packet may still go: if the highest possible number is required, the packets of ordinary
systems have too few, and requests to connect are ignored. A packet filter would say so more plainly, but newer versions
of Linux accept one only from root.
"""

import socket
import sys
from contextlib import suppress

_IP_MINTTL, _IPV6_MINHOPCOUNT = 21, 73
_MOST_HOPS = 255


def connect_nobody_more(listening: socket.socket) -> None:
    """Have the system ignore requests to connect, for all processes that wait at this socket. The client's system tries
    again after a second, and is refused once the socket is closed. Does nothing if the system cannot do this: Linux
    can, but not everything that stands in for it."""
    _want_hops(listening, _MOST_HOPS)


def hear(taken: socket.socket) -> None:
    """Have the system ignore nothing on a connection. One that was just being made when its listening socket was told
    to connect nobody more has inherited that."""
    _want_hops(taken, 0)


def _want_hops(it: socket.socket, least: int) -> None:
    if sys.platform != "linux" or it.family not in (socket.AF_INET, socket.AF_INET6):
        return
    with suppress(OSError):  # what stands in for Linux may not know it
        it.setsockopt(socket.IPPROTO_IP, _IP_MINTTL, least)  # IPv6 sockets take IPv4 packets too
        if it.family == socket.AF_INET6:
            it.setsockopt(socket.IPPROTO_IPV6, _IPV6_MINHOPCOUNT, least)
