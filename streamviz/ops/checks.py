"""What must be right on this machine before streamviz starts. Each check raises Fault, which says what to do."""

import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from streamviz.faults import Fault, cannot_listen


def require_folder(var_dir: Path) -> None:
    """Create the folder if there is none. Raises Fault if nothing can be written into it, or into the journal, which
    may be on another disk."""
    what = "VAR_DIR"
    try:
        var_dir.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=var_dir).close()
        what = "The journal in VAR_DIR"
        if (journal := var_dir / "journal").exists():
            TemporaryFile(dir=journal).close()
    except OSError as error:
        raise Fault(f"{what}={var_dir} cannot be used: {error.strerror}.") from None


@contextmanager
def only_one_running(var_dir: Path) -> Iterator[Callable[[], None]]:
    """Hold the folder for this process alone; the lock is released when the process ends, in whatever way. Yields a
    function that raises Fault if the lock was removed, so that another process can hold the folder too."""
    path = var_dir / "up.lock"
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise Fault(
                f"streamviz is already running in {var_dir} (process {holder}). "
                "Stop it, or set VAR_DIR to another folder."
            ) from None
        lock.truncate(0)
        with suppress(OSError):  # on a full disk, which the writer may yet clear, the process id is not shown
            os.write(lock.fileno(), f"{os.getpid()}\n".encode())

        def require_held() -> None:
            if not _is_at(path, lock.fileno()):
                raise Fault(f"{path} was removed while streamviz ran, and so maybe all of VAR_DIR. Start it again.")

        yield require_held


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the open file is still the one with this path; yes, if the disk does not say."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def require_two_ports(port: int, simulator_port: int) -> None:
    """Raises Fault if the simulator would answer in the server's place."""
    if port == simulator_port:
        raise Fault(f"PORT and SIMULATOR_PORT are both {port}. Set one of them to another port.")


def require_free_port(host: str, port: int, variable: str) -> None:
    """Raises Fault if nothing can listen there; `variable` is the setting that changes the port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise cannot_listen(error, host, port, variable) from None
