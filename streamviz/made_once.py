"""Files that are made once and whole, whoever else is about to make them, on file systems without hard links too."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile


def made_once(path: Path, make: Callable[[], str]) -> str:
    """What is in the file, which only its owner can read; `make` gives it where there is none. Its folder is there.

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
    with NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False) as fresh:  # its owner's alone
        try:
            fresh.write(text)
            fresh.flush()
            os.replace(fresh.name, path)
        except OSError:
            os.unlink(fresh.name)
            raise
