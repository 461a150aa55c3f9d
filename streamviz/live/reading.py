"""What live pages read of the record: in threads of its own, as it may take long, and whoever comes meanwhile is to be
let in."""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = ThreadPoolExecutor(4, thread_name_prefix="record")


def in_thread(read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """The same, for the event loop."""
    return database_sync_to_async(read, thread_sensitive=False, executor=_THREADS)
