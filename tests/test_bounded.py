"""What a policy awaits takes no more with it than itself."""

import asyncio

import pytest

from streamviz.bounded import within


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
async def test_what_it_meets_is_its_failure(hook: object, error: type[Exception], words: str) -> None:
    assert callable(hook)
    with pytest.raises(error, match=words):
        await within(hook(), 0.01)


async def test_whoever_waits_for_it_can_be_cancelled() -> None:
    task = asyncio.ensure_future(within(waits(), 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
