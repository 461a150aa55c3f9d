"""Threads in which live pages read the record: in asgiref's one thread, a slow read would keep the next websocket from
being let in."""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = ThreadPoolExecutor(4, thread_name_prefix="record")


def in_thread(read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """The same function as a coroutine, which runs it in one of these threads."""
    return database_sync_to_async(read, thread_sensitive=False, executor=_THREADS)
