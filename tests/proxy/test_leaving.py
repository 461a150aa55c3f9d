"""What may end a call, and what happens to the task that runs it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from streamviz.proxy import leaving
from streamviz.proxy.leaving import Race, until_over
from streamviz.proxy.worker import Worker

KEY, REVOKED = 1, 2


@dataclass
class Endable:
    """A call that does nothing until it is told to continue, and records what happens to it in order."""

    key_id: int = KEY
    has_sent_answer: bool = False
    is_reading: bool = False
    fails_with: Exception | None = None
    happened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        life = SimpleNamespace(is_over=False)
        self.stream: Any = SimpleNamespace(id=UUID(int=7), key_id=self.key_id, cancel=None, life=life)
        self.begun, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        self.happened.append("begun")
        self.begun.set()
        try:
            await self.may_go_on.wait()
        except asyncio.CancelledError:
            self.happened.append("tidied up")
            if self.fails_with is not None:
                raise self.fails_with from None
            raise
        if self.fails_with is not None:
            raise self.fails_with
        self.happened.append("done")

    def away(self) -> None:
        self.happened.append("away")

    def left(self, why: str) -> None:
        if not self.stream.life.is_over:
            self.happened.append(f"left {why}".strip())
            self.stream.life.is_over = True

    def broke(self, error: Exception) -> None:
        self.happened.append("broke")

    def dropped(self) -> None:
        """The server drops the call."""

    def cancelled(self, by: str) -> None:
        self.happened.append(f"cancelled by {by}")

    def revoked(self) -> None:
        self.happened.append("revoked")

    def stopped(self) -> None:
        self.happened.append("stopped")


class Slot:
    """A slot to end in that comes when the test says so."""

    def __init__(self) -> None:
        self.has_come = asyncio.Event()

    async def take(self) -> None:
        await self.has_come.wait()


class Running:
    """A race in its own task, which returns how it ended and checks that the task can still wait afterwards."""

    def __init__(self, worker: Worker, ended: Endable) -> None:
        self.ended = ended
        self.leaving: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._run(worker))

    async def _run(self, worker: Worker) -> bool:
        race = Race(self.leaving, self.ended, worker)
        try:
            is_whole = await race.run(self.ended)
            if race.say is not None:
                race.say()
        finally:
            race.close()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)
        return is_whole

    async def begun(self) -> "Running":
        await self.ended.begun.wait()
        return self


async def test_a_call_comes_to_its_end(worker: Worker) -> None:
    running = await Running(worker, Endable()).begun()
    running.ended.may_go_on.set()
    assert await running.task
    assert running.ended.happened == ["begun", "done"]
    assert running.ended.stream.cancel is None
    assert running.leaving.cancelled()


async def test_a_client_that_left_is_told_of_before_its_call_is_tidied_up(worker: Worker) -> None:
    running = await Running(worker, Endable()).begun()
    running.leaving.set_result({})
    assert not await running.task
    assert running.ended.happened == ["begun", "left", "tidied up"]


async def test_a_client_that_left_with_the_whole_answer_has_it_ended_by_upstream(worker: Worker) -> None:
    running = await Running(worker, Endable(has_sent_answer=True)).begun()
    running.leaving.set_result({})
    await asyncio.sleep(0)
    running.ended.may_go_on.set()
    assert await running.task
    assert running.ended.happened == ["begun", "away", "done"]


async def test_an_upstream_that_does_not_end_is_not_waited_for_without_end(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "END_SECONDS", 0.0)
    running = await Running(worker, Endable(has_sent_answer=True)).begun()
    running.leaving.set_result({})
    assert not await running.task
    assert running.ended.happened == ["begun", "away", "tidied up"]


def a_person(_: Worker, ended: Endable) -> bool:
    said: bool = ended.stream.cancel("alice")
    return said


def the_server(worker: Worker, _: Endable) -> bool:
    [end] = worker.running._endings
    return bool(end())


def the_end_of_its_key(worker: Worker, _: Endable) -> bool:
    worker.configuration.key_ids = frozenset()
    worker.running.end_revoked()
    return True


@pytest.mark.parametrize(
    ("ends", "said"), [(a_person, "cancelled by alice"), (the_server, "stopped"), (the_end_of_its_key, "revoked")]
)
async def test_whoever_ends_a_call_says_so_once_it_is_tidied_up(
    worker: Worker, ends: Callable[[Worker, Endable], bool], said: str
) -> None:
    running = await Running(worker, Endable()).begun()
    cancel = running.ended.stream.cancel
    assert ends(worker, running.ended)
    running.leaving.set_result({})
    assert not cancel("bob")
    assert not await running.task
    assert running.ended.happened == ["begun", "tidied up", said]


async def test_the_call_of_a_key_that_was_revoked_meanwhile_does_not_begin(worker: Worker) -> None:
    running = Running(worker, Endable(key_id=REVOKED))
    assert not await running.task
    assert running.ended.happened == ["revoked"]


async def test_a_server_that_waits_no_longer_cancels_the_task(worker: Worker) -> None:
    running = await Running(worker, Endable()).begun()
    running.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.task
    assert running.ended.happened == ["begun", "tidied up"]


async def test_a_server_that_waits_no_longer_cancels_the_task_of_a_call_that_somebody_ended_too(worker: Worker) -> None:
    running = await Running(worker, Endable()).begun()
    running.ended.stream.cancel("alice")
    running.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.task


async def test_a_failure_is_told_unless_somebody_ended_the_call(worker: Worker) -> None:
    running = await Running(worker, Endable(fails_with=OSError("gone"))).begun()
    running.ended.may_go_on.set()
    with pytest.raises(OSError, match="gone"):
        await running.task
    running = await Running(worker, Endable(fails_with=OSError("gone"))).begun()
    running.leaving.set_result({})
    assert not await running.task


async def test_calls_of_clients_that_leave_are_ended_in_turns(worker: Worker) -> None:
    slot: Any = Slot()
    worker.floods = slot
    running = await Running(worker, Endable()).begun()
    running.leaving.set_result({})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert running.ended.happened == ["begun", "left"]
    slot.has_come.set()
    assert not await running.task
    assert running.ended.happened == ["begun", "left", "tidied up"]


async def test_where_leaving_fails_the_call_ends_all_the_same(worker: Worker) -> None:
    running = await Running(worker, Endable()).begun()
    running.leaving.set_exception(OSError("no messages any more"))
    assert not await running.task
    assert running.ended.happened == ["begun", "tidied up"]


class Carrying:
    """A complete call without anything to carry out."""

    cut_off = ""

    def __init__(self, worker: Worker, exchange: Any) -> None:
        self.exchange = exchange
        self.leaving: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        driver: Any = self
        self.task = asyncio.create_task(until_over(exchange, self.leaving, driver, worker))

    async def carry_out(self) -> None:
        """Nothing to carry out."""


async def test_whoever_ends_the_call_of_a_client_that_has_left_it_is_the_client_who_left(worker: Worker) -> None:
    ended = Endable(has_sent_answer=True)
    carrying = Carrying(worker, ended)
    await ended.begun.wait()
    carrying.leaving.set_result({})
    await asyncio.sleep(0)
    the_server(worker, ended)
    await carrying.task
    assert ended.happened == ["begun", "away", "tidied up", "left"]


async def test_a_cancelled_task_is_cancelled_though_the_call_fails_at_that(worker: Worker) -> None:
    ended = Endable(fails_with=OSError("gone"))
    carrying = Carrying(worker, ended)
    await ended.begun.wait()
    carrying.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await carrying.task
