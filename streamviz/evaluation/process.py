"""The process that judges: `python -m streamviz.evaluation.process SOCKET MEGABYTES`. It has no settings, no database
and no credentials; it reads a task, answers it, and reads the next, until the socket is closed."""

import math
import resource
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from streamviz.cores import give_way
from streamviz.evaluation.tasks import carry_out, task_in

SIZE_BYTES = 8
# Sent before all answers: the process is ready.
READY = b"\x01"
# If there are more processes than processors, clients come first.
_NICENESS = 10
# The process that asked kills this one when the time is up; this is in case that process is gone.
_GRACE_SECONDS = 5


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    give_way(_NICENESS)
    _limit_memory(int(sys.argv[2]) * 2**20)
    with suppress(ConnectionError):  # the process that started this one may be gone
        end.sendall(READY)
    _serve(end)


def _limit_memory(more: int) -> None:
    """Allow this many bytes beyond what is in use now; if memory runs out, the kernel is to end this process first."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    used = _address_space() + more
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space() -> int:
    """In bytes; 0 on systems that do not report it, whose libraries need little."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _serve(end: socket.socket) -> None:
    with end.makefile("rwb") as stream:
        while len(head := stream.read(SIZE_BYTES)) == SIZE_BYTES:
            task = task_in(stream.read(int.from_bytes(head)))
            # Without a handler the kernel ends the process, even inside a library's loop.
            signal.alarm(math.ceil(task.seconds) + _GRACE_SECONDS)
            answer = carry_out(task)
            signal.alarm(0)
            stream.write(len(answer).to_bytes(SIZE_BYTES) + answer)
            stream.flush()


if __name__ == "__main__":
    main()
