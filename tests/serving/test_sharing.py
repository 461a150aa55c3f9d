"""Servers that share a port, from the point of view of the process that started them."""

import queue
import socket
from tempfile import TemporaryFile

import pytest

from streamviz.ops.children import Child
from streamviz.ops.workers import Server
from streamviz.serving.sharing import Share, Shares


@pytest.mark.integration
def test_a_server_that_was_killed_is_waited_for_by_none() -> None:
    ended: queue.SimpleQueue[Child] = queue.SimpleQueue()
    with socket.create_server(("127.0.0.1", 0)) as listening, TemporaryFile() as file:
        shares = Shares.make(file.fileno(), 2)
        one, two = (Share(file.fileno(), number) for number in range(2))
        server = Server(1, shares, [listening.fileno()], {})
        server.start(ended.put)
        for each in (one, two):
            each.begin()
        one.change(1)
        assert one.is_more_than_anothers()
        server.tell_to_stop()
        assert ended.get(timeout=120) is server
    assert not one.is_more_than_anothers()
