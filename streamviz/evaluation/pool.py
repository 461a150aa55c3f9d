"""A few processes that judge, for all streams of a server."""

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from pathlib import Path

from streamviz.core.hooks import words
from streamviz.core.judgements import Answer, Judged, Unanswered
from streamviz.core.policy import Work
from streamviz.evaluation.process import READY, SIZE_BYTES
from streamviz.evaluation.tasks import Task, answer_in, encoded, task_of

ROOT = Path(__file__).resolve().parents[2]
# What a program needs to start: no settings and no credentials.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR")
# The longest wait (s) for a process, which does not count against a policy's own time limit.
LONGEST_WAIT = 30.0
# No answer is this long: a request has at most tens of megabytes.
_LONGEST = 2**30


def bare_environment() -> dict[str, str]:
    """The environment of a program that reads untrusted input."""
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}


class Died(Exception):
    """The process ended before it answered, for example because it needed more memory than it may have."""


class Pool:
    """At most `processes` at once, with `megabytes` each; work beyond that waits, at most LONGEST_WAIT.

    A process is started when it is first needed, kept, and restarted if it died or had to be killed.
    """

    def __init__(self, processes: int, megabytes: int) -> None:
        self._all = [_Process(megabytes) for _ in range(processes)]
        self._turns = _Turns(self._all)

    async def judge(self, work: Work, seconds: float) -> Answer:
        """The policy's answer. It has `seconds` for it, counted from when it has a process that is ready."""
        task = task_of(work, seconds)
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                process = await self._turns.wait(work.context.owner)
        except TimeoutError:
            return Unanswered(f"no process was free within {LONGEST_WAIT:g} s")
        try:
            return await self._carry_out(process, task, seconds)
        except TimeoutError:
            return Unanswered(f"it took longer than {seconds:g} s")
        except (Died, OSError, ValueError) as error:
            return Judged(None, words(error))

    def warm(self) -> None:
        """Start one process, so that the first work does not wait for that."""
        self._all[-1].start()

    def close(self) -> None:
        """End all processes; nothing is answered after this."""
        for process in self._all:
            if (ended := process.kill()) is not None:
                ended.wait()

    async def _carry_out(self, process: "_Process", task: Task, seconds: float) -> Judged:
        try:
            return await self._ask(process, task, seconds)
        finally:
            self._turns.give_back(process)

    async def _ask(self, process: "_Process", task: Task, seconds: float) -> Judged:
        try:
            await process.come_up()
            async with asyncio.timeout(seconds):
                # Encoded only now: a long task blocks the loop while it is written, and here there are few at once.
                return answer_in(await process.ask(encoded(task)))
        except BaseException:
            # Whatever happened, an answer that still arrives would be taken for that of the next task.
            if (ended := process.kill()) is not None:
                # The kernel may take a while to reclaim its memory.
                asyncio.get_running_loop().run_in_executor(None, ended.wait)
            raise


class _Turns:
    """Who gets a process next: owners take turns, however many tasks one of them has waiting."""

    def __init__(self, processes: "list[_Process]") -> None:
        self._free = list(processes)
        self._waiting: dict[str, deque[asyncio.Future[_Process]]] = {}

    async def wait(self, owner: str) -> "_Process":
        """A process, to be given back."""
        if self._free:
            return self._free.pop()
        turn: asyncio.Future[_Process] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(turn.result())
            raise

    def give_back(self, process: "_Process") -> None:
        """Pass the process on to the next in turn."""
        while self._waiting:
            owner, queue = next(iter(self._waiting.items()))
            turn = queue.popleft()
            del self._waiting[owner]
            if queue:
                self._waiting[owner] = queue  # to the end of the line
            if not turn.done():
                turn.set_result(process)
                return
        self._free.append(process)


class _Process:
    """One of the processes, or the place for one."""

    def __init__(self, megabytes: int) -> None:
        self._megabytes = megabytes
        self._running: subprocess.Popen[bytes] | None = None
        self._end: socket.socket | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def start(self) -> None:
        """Start the process without waiting for it; what is sent to it waits until it has started."""
        self._end, its_end = socket.socketpair()
        with its_end:
            self._running = subprocess.Popen(
                [sys.executable, "-m", "streamviz.evaluation.process", str(its_end.fileno()), str(self._megabytes)],
                cwd=ROOT,
                env=bare_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a library's last words may quote what it read
                pass_fds=(its_end.fileno(),),
                start_new_session=True,
            )

    async def come_up(self) -> None:
        """Return once it reads its input, which can take long on a busy machine. Raises Died, OSError."""
        if self._streams is not None:
            return
        if self._running is None:
            self.start()
        assert self._end is not None
        self._streams = await asyncio.open_connection(sock=self._end)
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await self._streams[0].readexactly(len(READY))
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Died("the process that runs it ended before it was ready") from None
        except TimeoutError:
            raise Died(f"the process that runs it was not ready within {LONGEST_WAIT:g} s") from None

    async def ask(self, task: bytes) -> bytes:
        """Its answer to a task, after `come_up`. Raises Died, OSError."""
        assert self._streams is not None
        reader, writer = self._streams
        writer.write(len(task).to_bytes(SIZE_BYTES))
        writer.write(task)
        try:
            await writer.drain()
            size = int.from_bytes(await reader.readexactly(SIZE_BYTES))
            if size > _LONGEST:
                raise Died("its answer is too long")
            return await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Died("the process that ran it ended") from None

    def kill(self) -> "subprocess.Popen[bytes] | None":
        """End it, whatever it is doing; gives what to wait for."""
        if self._streams is not None:
            self._streams[1].transport.abort()
        elif self._end is not None:
            self._end.close()
        if (running := self._running) is not None:
            running.kill()
        self._streams = self._end = self._running = None
        return running
