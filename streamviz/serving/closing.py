"""Closing a socket that listens without cutting anybody off.

Whoever the system has connected, and the server has not taken yet, is cut off when the socket is closed. A proxy may
have sent its request by then, and may not send it again. So the system first connects nobody more.
"""

import ctypes
import socket
import struct
import sys

_SO_ATTACH_FILTER = 26
_LOAD_BYTE, _JUMP_IF_SET, _RETURN = 0x30, 0x45, 0x06
_FLAGS, _SYN = 13, 0x02  # of a TCP header
_EVERYTHING = 0xFFFFFFFF
# Instructions of Linux's classic BPF: the code, how many to skip where a test holds and where not, and a value.
_ALL_BUT_SYN = [
    (_LOAD_BYTE, 0, 0, _FLAGS),
    (_JUMP_IF_SET, 0, 1, _SYN),
    (_RETURN, 0, 0, 0),
    (_RETURN, 0, 0, _EVERYTHING),
]


def connect_nobody_more(listening: socket.socket) -> None:
    """Have the system pass over whoever begins to connect, for all processes that wait at this socket. It tries again
    after a second, and is refused once the socket is closed. Does nothing where the system is not Linux."""
    if sys.platform == "linux":
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _ALL_BUT_SYN))
        listening.setsockopt(
            socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(_ALL_BUT_SYN), ctypes.addressof(code))
        )
