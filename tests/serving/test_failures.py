"""Whoever cannot be told that his request failed keeps nobody else from being told."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streamviz.serving.event_loop import reactor
from streamviz.serving.listening import Listening


class Client:
    """A websocket, of which it is told what the server makes of its application's failure."""

    def __init__(self, can_be_told: bool) -> None:
        self.happened: list[str] = []
        self._can_be_told = can_be_told
        self.transport = SimpleNamespace(abortConnection=lambda: self.happened.append("cut off"))

    def handle_exception(self, error: BaseException) -> None:
        if not self._can_be_told:
            raise RuntimeError("its socket is closed")
        self.happened.append(f"told: {error}")


async def failed() -> None:
    raise ValueError("it failed")


async def test_the_next_look_is_at_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    due: list[Callable[[], None]] = []
    monkeypatch.setattr(reactor, "callLater", lambda _, call: due.append(call))
    clients = [Client(can_be_told) for can_be_told in (True, False, False, True)]
    running = [asyncio.ensure_future(failed()) for _ in clients]
    await asyncio.wait(running)
    server = cast(Any, Listening.__new__(Listening))
    server.connections = {client: {"application_instance": task} for client, task in zip(clients, running, strict=True)}
    server.application_checker()
    for _ in range(3):
        [look] = due
        due.clear()
        look()
    told = ["told: it failed"]
    assert [client.happened for client in clients] == [told, ["cut off"], ["cut off"], told]
    assert len(due) == 1
