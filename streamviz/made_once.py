"""Files that are made only once, and whole, even if several processes try, and without a need for hard links."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile


def made_once(path: Path, make: Callable[[], str]) -> str:
    """The content of the file, which only its owner can read; if there is none, it is written with what `make` gives.
    The folder has to exist.

    Raises OSError.
    """
    if not path.exists():
        lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _write(path, make())
        finally:
            os.close(lock)
    return path.read_text()


def _write(path: Path, text: str) -> None:
    with NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False) as fresh:  # only for its owner
        try:
            fresh.write(text)
            fresh.flush()
            os.replace(fresh.name, path)
        except OSError:
            os.unlink(fresh.name)
            raise
