"""Handing over connections, as far as one process can test it; tests/e2e/test_browser_live.py has the rest."""

import os
import socket

from streamviz.serving.handover import hand_over, pair


def test_a_connection_comes_with_its_request() -> None:
    here, there = pair()
    client, served = socket.socketpair()
    with here, there, client:
        assert hand_over(here, served.fileno(), b"GET / HTTP/1.1")
        served.close()
        request, [descriptor], _, _ = socket.recv_fds(there, 1000, 1)
        client.sendall(b"it is open")
        assert (request, os.read(descriptor, 1000)) == (b"GET / HTTP/1.1", b"it is open")
        os.close(descriptor)


def test_a_connection_is_kept_where_nobody_takes_it() -> None:
    here, there = pair()
    client, served = socket.socketpair()
    with here, client, served:
        there.close()
        assert not hand_over(here, served.fileno(), b"GET / HTTP/1.1")
        served.sendall(b"it is open")
        assert client.recv(1000) == b"it is open"
