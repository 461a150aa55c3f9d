"""A limit in time for a whole request to object storage. botocore only limits the wait for the next byte, so a storage
that sends a byte at a time could keep a thread for ever."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

# How often a request that is over time is cut off again: it may only just have connected, or begun its next attempt.
_AGAIN_SECONDS = 0.5
_of_thread = threading.local()


class TimeLimit:
    """Lets the requests that this thread makes meanwhile take so many seconds together, and then cuts off their
    connection. Raises TimeoutError at its end if it had to, whatever came of the request. For clients that are
    `limited`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._is_over = False
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._connection: Any = None

    def __enter__(self) -> Self:
        _of_thread.limit = self
        threading.Thread(target=self._watch, name="archive limit", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _of_thread.limit = None
        with self._lock:  # from now on somebody else may use the connection
            self._done.set()
        if self._is_over:
            raise TimeoutError(f"it took longer than {self._seconds:g} s") from None

    def note(self, connection: Any) -> None:
        """Called with the connection that a request is about to use."""
        with self._lock:
            self._connection = connection

    def _watch(self) -> None:
        seconds = self._seconds
        while not self._done.wait(seconds):
            with self._lock:
                if not self._done.is_set():
                    self._is_over = True
                    _cut_off(self._connection)
            seconds = _AGAIN_SECONDS


def _cut_off(connection: Any) -> None:
    used = getattr(connection, "sock", None) or getattr(connection, "responding", None)
    if isinstance(used, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(used, socket.SHUT_RDWR)  # not TLS's own, which would wait for the other side


def limited(client: Any) -> Any:
    """A client of boto3, once it tells TimeLimit of the connections that it uses."""
    pools = client._endpoint.http_session._pool_classes_by_scheme
    for scheme, pool in pools.items():
        connection = type("Noted", (_Noted, pool.ConnectionCls), {})
        pools[scheme] = type("Pool", (pool,), {"ConnectionCls": connection})
    return client


class _Noted:
    """A connection that TimeLimit can cut off."""

    sock: Any
    responding: Any = None

    def request(self, *args: Any, **values: Any) -> Any:
        if (limit := getattr(_of_thread, "limit", None)) is not None:
            limit.note(self)
        return super().request(*args, **values)  # type: ignore[misc]

    def getresponse(self, *args: Any, **values: Any) -> Any:
        self.responding = self.sock  # which the connection forgets, if it is to be closed after this response
        return super().getresponse(*args, **values)  # type: ignore[misc]
