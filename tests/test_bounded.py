"""What a policy awaits can fail only that policy."""

import asyncio
import threading

import pytest

from streamviz.bounded import aside, rest, within


async def exits() -> None:
    raise SystemExit(3)


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def waits() -> None:
    await asyncio.Event().wait()


async def fails() -> None:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("hook", "error", "words"),
    [(exits, RuntimeError, "SystemExit: 3"), (cancels_itself, RuntimeError, "cancelled itself"),
     (waits, TimeoutError, "longer than 0.01 s"), (fails, KeyError, "x")],
)  # fmt: skip
async def test_what_an_awaited_hook_meets_is_its_failure(hook: object, error: type[Exception], words: str) -> None:
    assert callable(hook)
    with pytest.raises(error, match=words):
        await within(hook(), 0.01)


async def test_whoever_waits_for_it_can_be_cancelled() -> None:
    task = asyncio.ensure_future(within(waits(), 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_long_work_rests_once_it_has_gone_on_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now, rounds, is_over = 1.0, 0, False
    monkeypatch.setattr("streamviz.bounded.monotonic", lambda: now)
    monkeypatch.setattr("streamviz.bounded._rested.at", 0.0)

    async def other() -> None:
        nonlocal rounds
        while not is_over:
            rounds += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    found = []
    for worked in (0.0, 0.0004, 0.0004, 0.0004):
        now += worked
        before = rounds
        await rest()
        found.append(rounds > before)
    is_over = True
    await task
    assert found == [True, False, False, True]


async def test_long_work_is_done_in_another_thread() -> None:
    found: list[int] = []
    await aside(lambda: found.append(threading.get_ident()))
    assert found != [threading.get_ident()]
    assert found


async def test_what_is_done_aside_is_done_before_whoever_waits_goes_on() -> None:
    began, may_end, done = threading.Event(), threading.Event(), list[bool]()

    def work() -> None:
        began.set()
        may_end.wait()
        done.append(True)

    task = asyncio.ensure_future(aside(work))
    await asyncio.to_thread(began.wait)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done
