"""One client that cannot be notified does not keep others from being notified."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streamviz.serving.event_loop import reactor
from streamviz.serving.listening import Listening


class Client:
    """A websocket, and what the server does with it."""

    def __init__(self, can_be_told: bool) -> None:
        self.happened: list[str] = []
        self._can_be_told = can_be_told
        self.transport = SimpleNamespace(abortConnection=lambda: self.happened.append("cut off"))

    def handle_exception(self, error: BaseException) -> None:
        self._tell(str(error))

    def check_timeouts(self) -> None:
        self._tell("are you there?")

    def _tell(self, what: str) -> None:
        if not self._can_be_told:
            raise RuntimeError("its socket is closed")
        self.happened.append(what)


async def failed() -> None:
    raise ValueError("it failed")


@pytest.fixture
def due(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What the server has scheduled."""
    found: list[Callable[[], None]] = []
    monkeypatch.setattr(reactor, "callLater", lambda _, call: found.append(call))
    return found


def server_of(connections: dict[Client, dict[str, Any]]) -> Any:
    server = cast(Any, Listening.__new__(Listening))
    server.connections = connections
    return server


async def test_the_next_look_at_what_failed_is_at_all_others(due: list[Callable[[], None]]) -> None:
    clients = [Client(can_be_told) for can_be_told in (True, False, False, True)]
    running = [asyncio.ensure_future(failed()) for _ in clients]
    await asyncio.wait(running)
    started = zip(clients, running, strict=True)
    server_of({client: {"application_instance": task} for client, task in started}).application_checker()
    for _ in range(3):
        due.pop()()
    told = ["it failed"]
    assert [client.happened for client in clients] == [told, ["cut off"], ["cut off"], told]
    assert len(due) == 1


async def test_all_clients_are_asked_whether_they_are_still_there(due: list[Callable[[], None]]) -> None:
    clients = [Client(can_be_told) for can_be_told in (True, False, True)]
    server_of({client: {} for client in clients}).timeout_checker()
    asked = ["are you there?"]
    assert [client.happened for client in clients] == [asked, ["cut off"], asked]
    assert len(due) == 1
