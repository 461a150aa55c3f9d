"""Closing a socket that listens without cutting anybody off.

Whoever the system has connected, and the server has not taken yet, is cut off when the socket is closed. A proxy may
have sent its request by then, and may not send it again. So the system first connects nobody more.

It does so by the hops that a packet may still go: as many as there can be at all has only who sends more of them than
systems do, and who asks to connect is passed over. A filter of packets would say it more plainly, but newer versions of
Linux take one from root alone.
"""

import socket
import sys
from contextlib import suppress

_IP_MINTTL, _IPV6_MINHOPCOUNT = 21, 73
_MOST_HOPS = 255


def connect_nobody_more(listening: socket.socket) -> None:
    """Have the system pass over whoever begins to connect, for all processes that wait at this socket. It tries again
    after a second, and is refused once the socket is closed. Does nothing where the system cannot: Linux can, and not
    all that stands in for it."""
    _want_hops(listening, _MOST_HOPS)


def hear(taken: socket.socket) -> None:
    """Have the system pass over nothing that comes on a connection: one that was about to be made as the socket that
    listens was to connect nobody more has that from it."""
    _want_hops(taken, 0)


def _want_hops(it: socket.socket, least: int) -> None:
    if sys.platform != "linux" or it.family not in (socket.AF_INET, socket.AF_INET6):
        return
    with suppress(OSError):  # as where something stands in for Linux that does not know it
        it.setsockopt(socket.IPPROTO_IP, _IP_MINTTL, least)  # IPv6's sockets take IPv4's packets too
        if it.family == socket.AF_INET6:
            it.setsockopt(socket.IPPROTO_IPV6, _IPV6_MINHOPCOUNT, least)
