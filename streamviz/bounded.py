"""Long work, kept from taking more with it than itself."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

# A round of the event loop that takes less has hardly served anybody.
_CALM_SECONDS = 0.0005
# To pass a chunk on takes some rounds; others may be at long work too, and nobody waits for ever.
_MOST_ROUNDS = 6
# Work that has not gone on for so long need not rest: to do so takes as long as reading some hundred characters.
_WORK_SECONDS = 0.001
# One at a time: each more that runs would have the event loop wait longer for its turn.
_beside_the_loop = ThreadPoolExecutor(1, "aside")


class _Rested(threading.local):
    """When somebody rested last, in this thread's event loop."""

    at = 0.0


_rested = _Rested()


async def rest() -> None:
    """Between two steps of long work: let other streams get on until none of them waits, or for a while. Return at once
    where they just did."""
    if monotonic() - _rested.at < _WORK_SECONDS:
        return
    for _ in range(_MOST_ROUNDS):
        began_at = monotonic()
        # The first lets the loop read its sockets, the second lets those run who wait for what was read.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        _rested.at = monotonic()
        if _rested.at - began_at < _CALM_SECONDS:
            return


async def aside(work: Callable[[], None]) -> None:
    """Do it in a thread, while others get on. Whoever is cancelled meanwhile goes on once it is done, and finds what it
    works on at rest."""
    running = asyncio.get_running_loop().run_in_executor(_beside_the_loop, work)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        raise


async def within(hook: Awaitable[None], seconds: float) -> None:
    """Raises TimeoutError where it takes longer, RuntimeError where it exits the process or cancels itself."""
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
    except BaseException as error:  # sys.exit() in anybody's code would end the event loop.
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
