"""Where journals lie: a folder a worker, with the worker's lock and its segments.

A worker holds the lock for as long as it lives, and the operating system lets it go however that ends: a folder whose
lock can be had was left behind.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from streamviz.records.ids import uuid7

_LOCK = "lock"
_SUFFIX = ".segment"


def create(root: Path) -> tuple[Path, int]:
    """A new worker's folder, and the descriptor that holds its lock."""
    name = str(uuid7())
    # It gets its name once it is locked, so that nobody takes it for one that was left behind.
    unfinished = root / f".{name}"
    unfinished.mkdir(parents=True)
    lock = os.open(unfinished / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return unfinished.rename(root / name), lock


def journals(root: Path) -> list[Path]:
    """The folders of all workers, those that are no more included, oldest first."""
    with suppress(FileNotFoundError):
        return sorted(path for path in root.iterdir() if _is_uuid(path.name))
    return []


def is_abandoned(journal: Path) -> bool:
    """Whether the worker of this folder is no more."""
    with open_locked(journal / _LOCK) as is_ours:
        return is_ours


@contextmanager
def open_locked(path: Path) -> Iterator[bool]:
    """Hold a file's lock for a while, if nobody else has it; gives whether that is so."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _try_lock(descriptor)
    finally:
        os.close(descriptor)


def remove(journal: Path) -> None:
    """Remove a folder that was left behind and has nothing more to give."""
    shutil.rmtree(journal)


def segment(journal: Path, number: int) -> Path:
    """The file of a segment."""
    return journal / f"{number:010d}{_SUFFIX}"


def segments(journal: Path) -> list[int]:
    """The numbers of the segments that are there, in order."""
    return sorted(int(path.stem) for path in journal.glob(f"*{_SUFFIX}"))


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
