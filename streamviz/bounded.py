"""Long work, kept from holding up or taking down other work."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

# A round of the event loop shorter than this has done hardly anything for others.
_CALM_SECONDS = 0.0005
# Passing on a chunk takes some rounds. Others may be at long work too, and the wait has to end.
_MOST_ROUNDS = 6
# Work that has gone on for less than this need not rest: resting takes as long as reading a few hundred characters.
_WORK_SECONDS = 0.001
# One at a time: with more threads the event loop would wait longer for its turn.
_beside_the_loop = ThreadPoolExecutor(1, "aside")


class _Rested(threading.local):
    """When somebody last rested in this thread's event loop."""

    at = 0.0


_rested = _Rested()


async def rest() -> None:
    """Between two steps of long work, let other streams run until none waits, or for a while, unless they just did."""
    if monotonic() - _rested.at < _WORK_SECONDS:
        return
    for _ in range(_MOST_ROUNDS):
        began_at = monotonic()
        await asyncio.sleep(0)  # lets the loop read its sockets
        await asyncio.sleep(0)  # runs the tasks that wait for what was read
        _rested.at = monotonic()
        if _rested.at - began_at < _CALM_SECONDS:
            return


async def aside(work: Callable[[], None]) -> None:
    """Run `work` in a thread while other tasks go on. A caller that is cancelled meanwhile continues only once the work
    is done, so that nothing works on its data any more."""
    running = asyncio.get_running_loop().run_in_executor(_beside_the_loop, work)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        raise


async def within(hook: Awaitable[None], seconds: float) -> None:
    """Raises TimeoutError if it takes longer, RuntimeError if it exits the process or cancels itself."""
    try:
        async with asyncio.timeout(seconds):
            await hook
    except TimeoutError:
        raise TimeoutError(f"it took longer than {seconds:g} s") from None
    except (Exception, GeneratorExit):
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("it cancelled itself") from None
    except BaseException as error:  # sys.exit() in third-party code would end the event loop.
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
