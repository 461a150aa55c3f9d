"""The processes that the supervisor starts: what they are called, whether they answer, and how they are ended."""

import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamviz.faults import Fault

STOP_SECONDS = 12
ANSWER_SECONDS = 120
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Address:
    """Where a child answers HTTP."""

    host: str
    port: int


class Child:
    """One Python module running as a process of its own, which ends when this process does."""

    def __init__(self, name: str, module: list[str], address: Address, environment: Mapping[str, str]) -> None:
        self.name = name
        self._module = module
        self._address = address
        self._environment = {**os.environ, **environment}

    def start(self, on_end: Callable[["Child"], None]) -> None:
        """Start it; `on_end` is called, on another thread, when it has ended for whatever reason."""
        # A session of its own keeps the terminal's Ctrl-C from it: the supervisor ends its children in order.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streamviz.ops.child", *self._module],
            stdin=subprocess.PIPE,
            start_new_session=True,
            env=self._environment,
        )
        threading.Thread(target=self._await_end, args=[on_end], name=f"await-{self.name}", daemon=True).start()

    def wait_until_it_answers(self) -> None:
        """Return when it answers HTTP requests. Raises Fault when it ends first or does not come to answer."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self._answers():
            if self._process.poll() is not None:
                raise Fault(self.ending())
            if time.monotonic() > deadline:
                raise Fault(f"The {self.name} does not answer on {self._address.host}:{self._address.port}.")
            time.sleep(POLL_SECONDS)

    def ending(self) -> str:
        """How it ended, as a sentence."""
        return f"The {self.name} ended by itself (exit status {self._process.wait()}); what it said is above."

    def stop(self) -> None:
        """End it: politely, and at once when that takes too long."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await_end(self, on_end: Callable[["Child"], None]) -> None:
        self._process.wait()
        on_end(self)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(self._address.host, self._address.port, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status > 0
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
