"""The processes that the supervisor starts: what they are called, whether they answer, and how they are ended."""

import http.client
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from streamviz.faults import Fault

# In addition to the time that the server's streams get.
STOP_SECONDS = 15
READY_SECONDS = 120
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Address:
    """Where a child answers HTTP."""

    host: str
    port: int

    def answers(self) -> bool:
        """Whether anything answers there."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status > 0
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class Child:
    """One Python module running as a process of its own, which ends when this process does.

    `is_ready` says whether it has begun its work; `began` is when it was last started (s, monotonic).
    """

    began: float

    def __init__(
        self,
        name: str,
        module: list[str],
        is_ready: Callable[[], bool],
        environment: Mapping[str, str],
        descriptors: Sequence[int] = (),
    ) -> None:
        """`descriptors` are file descriptors that it inherits."""
        self.name = name
        self._module = module
        self._descriptors = descriptors
        self._is_ready = is_ready
        self._environment = {**os.environ, **environment}

    def start(self, on_end: Callable[["Child"], None]) -> None:
        """Start it; `on_end` is called on another thread once it has ended, for whatever reason. Raises OSError, and
        Fault if the system has no room for that thread; the process is then killed."""
        self.began = time.monotonic()
        # A session of its own keeps the terminal's Ctrl-C from it: the supervisor ends its children in order.
        self._process = subprocess.Popen(
            [*settings.PYTHON, "-m", "streamviz.ops.child", *self._module],
            cwd=settings.WORKING_DIR,
            stdin=subprocess.PIPE,
            start_new_session=True,
            env=self._environment,
            pass_fds=self._descriptors,
        )
        try:
            self._await(self._process, on_end)
        except RuntimeError as error:
            with self._process:
                self._process.kill()
            raise Fault(f"No thread can watch over the {self.name}: {error}.") from None

    def wait_until_ready(self) -> None:
        """Return once it does its work. Raises Fault if it ends before that, or takes too long."""
        deadline = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None:
                raise Fault(self.ending())
            if time.monotonic() > deadline:
                raise Fault(f"The {self.name} did not start.")
            time.sleep(POLL_SECONDS)

    def ending(self) -> str:
        """How it ended, as a sentence."""
        return f"The {self.name} ended unexpectedly (exit status {self._process.wait()}); what it said is above."

    def stop(self) -> None:
        """End it."""
        stop_together([self])

    def tell_to_stop(self) -> None:
        """Ask it to end, politely."""
        self._process.terminate()

    def wait_for_end(self, seconds: float) -> None:
        """Return once it has ended; if that takes longer than `seconds`, it is killed."""
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await(self, process: "subprocess.Popen[bytes]", on_end: Callable[["Child"], None]) -> None:
        awaiting = self._await_end
        threading.Thread(target=awaiting, args=[process, on_end], name=f"await-{self.name}", daemon=True).start()

    def _await_end(self, process: "subprocess.Popen[bytes]", on_end: Callable[["Child"], None]) -> None:
        with process:  # closes our end of the pipe, too
            process.wait()
        on_end(self)


def stop_together(children: Iterable[Child], seconds: float = STOP_SECONDS) -> None:
    """End all of them at the same time; they have `seconds` in addition to the time that streams get."""
    told = list(children)
    for child in told:
        child.tell_to_stop()
    deadline = time.monotonic() + settings.STOP_GRACE_SECONDS + seconds
    for child in told:
        child.wait_for_end(deadline - time.monotonic())
