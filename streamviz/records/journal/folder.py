"""Where journals lie: a folder a worker, with the worker's lock and its segments.

A worker holds the lock for as long as it lives, and the operating system lets it go however that ends: a folder whose
lock can be had was left behind. Folders and files are their owner's alone, as they hold all that clients and models
said. What else lies beside or in them is left alone.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from streamviz.made_once import made_once
from streamviz.records.ids import uuid7

LOCK = "lock"
# The next segment, open before it is needed: a worker that may open no more files goes on in it.
AHEAD = "ahead"
# Where the segments are kept in which something was damaged.
DAMAGED = "damaged"
# Where the streams are kept that Postgres would not take.
REFUSED = "refused"
# The writer's lock, and what it says of itself.
WRITER_LOCK = "writer.lock"
WRITER_STATUS = "writer.json"
OURS = (WRITER_LOCK, WRITER_STATUS)
# What tells this machine from others: all that share these journals are one, whatever they are called.
MACHINE = "machine"
_SUFFIX = ".records"
# Of before there were markers in them.
_UNMARKED = ".segment"
_DIGITS = 10
_SEGMENT = re.compile(rf"[0-9]{{{_DIGITS}}}({re.escape(_SUFFIX)}|{re.escape(_UNMARKED)})")


def create(root: Path) -> tuple[Path, int]:
    """A new worker's folder, and the descriptor that holds its lock."""
    name = str(uuid7())
    # It gets its name once it is locked, so that nobody takes it for one that was left behind.
    unfinished = private_folder(root / f".{name}")
    lock = os.open(unfinished / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return unfinished.rename(root / name), lock


def private_folder(folder: Path) -> Path:
    """The folder, made where there is none, and its owner's alone whatever the umask is and others have made of it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(PermissionError):  # another user's, who says who may read it
        folder.chmod(0o700)
    return folder


def make_private(root: Path) -> None:
    """Make `root`, and take from the eyes of others what is there of ours: earlier versions did as the umask said."""
    private_folder(root)
    for name in OURS:
        _hide_file(root / name)
    for folder in (*journals(root), *(root / name for name in (DAMAGED, REFUSED) if (root / name).is_dir())):
        with suppress(FileNotFoundError):  # stored and removed meanwhile
            for file in private_folder(folder).iterdir():
                _hide_file(file)


def machine_id(root: Path) -> str:
    """What this machine is called among others, kept beside the journals. Raises OSError where that cannot be."""
    return made_once(private_folder(root) / MACHINE, lambda: str(uuid7()))


def journals(root: Path) -> list[Path]:
    """The folders of all workers, those that are no more included, oldest first."""
    with suppress(FileNotFoundError):
        return sorted(path for path in root.iterdir() if is_uuid(path.name) and (path / LOCK).is_file())
    return []


def is_abandoned(journal: Path) -> bool:
    """Whether the worker of this folder is no more."""
    with open_locked(journal / LOCK) as is_ours:
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
    """Remove what is ours of a folder that was left behind and has nothing more to give, and it, if that was all."""
    for number in segments(journal):
        segment(journal, number).unlink()
    (journal / AHEAD).unlink(missing_ok=True)
    (journal / LOCK).unlink()
    with suppress(OSError):
        journal.rmdir()


def segment(journal: Path, number: int) -> Path:
    """The file of a segment."""
    unmarked = unmarked_segment(journal, number)
    return unmarked if unmarked.exists() else journal / f"{number:010d}{_SUFFIX}"


def unmarked_segment(journal: Path, number: int) -> Path:
    """The file of a segment whose records have no marker."""
    return journal / f"{number:010d}{_UNMARKED}"


def marker(segment: Path) -> bytes:
    """What begins each record of a segment: the random part of its journal's name."""
    return b"" if segment.suffix == _UNMARKED else UUID(segment.parent.name).bytes[8:]


def segments(journal: Path) -> list[int]:
    """The numbers of the segments that are there, in order. It is asked many times a second."""
    with suppress(FileNotFoundError), os.scandir(journal) as files:
        return sorted({int(file.name[:_DIGITS]) for file in files if _SEGMENT.fullmatch(file.name) and file.is_file()})
    return []


def keep_damaged(journal: Path, number: int) -> Path:
    """Put a segment aside from which all was taken that is whole; where it is now."""
    path = segment(journal, number)
    kept = private_folder(journal.parent / DAMAGED) / f"{journal.name}-{path.name}"
    return path.replace(kept)


def damaged(root: Path) -> list[Path]:
    """The segments that were put aside as something in them is damaged."""
    return sorted(path for path in (root / DAMAGED).glob("*") if path.suffix in (_SUFFIX, _UNMARKED))


def refused(root: Path) -> list[Path]:
    """The files of streams that Postgres would not take; other files there are left alone."""
    return sorted(path for path in (root / REFUSED).glob(f"*{_UNMARKED}") if is_uuid(path.stem))


def _hide_file(file: Path) -> None:
    with suppress(PermissionError, FileNotFoundError):
        if file.is_file() and not file.is_symlink():
            file.chmod(0o600)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_uuid(name: str) -> bool:
    """Whether a file is called as streams and workers are."""
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
