"""Timers of connections, and what they write together."""

import asyncio

from streamviz.serving.connections import Connection, Timer


class Socketless(Connection):
    """A connection whose socket takes all that it is given."""

    connected = 1

    def __init__(self) -> None:
        self.dataBuffer, self._tempDataBuffer = b"", []
        self.sent: list[bytes] = []

    def writeSomeData(self, data: bytes) -> int:  # noqa: N802 - Twisted's name
        self.sent.append(data)
        return len(data)


def test_what_is_written_together_goes_to_the_socket_in_one_piece() -> None:
    connection = Socketless()
    with connection.at_once():
        connection.writeSequence([b"head", b"\r\n"])
        connection.write(b"body")
        assert connection.sent == []
    connection.write(b"more")
    assert connection.sent == [b"head\r\nbody", b"more"]


def test_a_timer_is_due_once_and_only_as_it_was_last_set() -> None:
    async def due() -> list[str]:
        told: list[str] = []
        cancelled, moved = Timer(0.0, lambda: told.append("cancelled")), Timer(60.0, lambda: told.append("moved"))
        cancelled.cancel()
        over = asyncio.Event()
        moved.reset(0.0)
        Timer(0.001, over.set)
        await over.wait()
        return told

    assert asyncio.run(due()) == ["moved"]
