"""What a policy awaits, kept from taking more with it than itself."""

import asyncio
from collections.abc import Awaitable


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
