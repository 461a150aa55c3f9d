"""The process that judges: `python -m streamviz.evaluation.process SOCKET MEGABYTES`. It has no settings, no database
and no credentials; it reads a task, answers it, and reads the next, until nobody sends any."""

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
# What it says before all answers: it has come up.
READY = b"\x01"
# Clients come first where there are more processes than processors.
_NICENESS = 10
# Who asked kills it when the time is up, and this is for where that is gone.
_GRACE_SECONDS = 5


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    give_way(_NICENESS)
    _limit_memory(int(sys.argv[2]) * 2**20)
    with suppress(ConnectionError):  # who started it may be gone by now
        end.sendall(READY)
    _serve(end)


def _limit_memory(more: int) -> None:
    """So many bytes beyond what it has now; without memory the kernel's choice falls on this process."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    used = _address_space() + more
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space() -> int:
    """Bytes; 0 on systems that do not say so, whose libraries need little."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _serve(end: socket.socket) -> None:
    with end.makefile("rwb") as stream:
        while len(head := stream.read(SIZE_BYTES)) == SIZE_BYTES:
            task = task_in(stream.read(int.from_bytes(head)))
            # No handler: the kernel ends the process, also in the midst of a library's loop.
            signal.alarm(math.ceil(task.seconds) + _GRACE_SECONDS)
            answer = carry_out(task)
            signal.alarm(0)
            stream.write(len(answer).to_bytes(SIZE_BYTES) + answer)
            stream.flush()


if __name__ == "__main__":
    main()
