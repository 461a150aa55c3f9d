"""Where journals are: one folder per worker, with the worker's lock and its segments.

A worker holds its lock for as long as it lives, and the operating system releases it however the worker ends, so a
folder whose lock is free has been abandoned. Folders and files are readable by their owner only, because they hold
everything that clients and models said. Other files beside or in them are left alone.
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
# The next segment, opened ahead of time: a worker that runs out of file descriptors can still move on to it.
AHEAD = "ahead"
# The folder for segments in which something was damaged.
DAMAGED = "damaged"
# The folder for streams that Postgres refused.
REFUSED = "refused"
# The writer's lock file and status file.
WRITER_LOCK = "writer.lock"
WRITER_STATUS = "writer.json"
OURS = (WRITER_LOCK, WRITER_STATUS)
# Holds this machine's id. All servers that share these journals count as one machine, whatever their host names are.
MACHINE = "machine"
_SUFFIX = ".records"
# Segments of earlier versions, whose records have no marker.
_UNMARKED = ".segment"
_DIGITS = 10
_SEGMENT = re.compile(rf"[0-9]{{{_DIGITS}}}({re.escape(_SUFFIX)}|{re.escape(_UNMARKED)})")


def create(root: Path) -> tuple[Path, int]:
    """A new worker's folder, and the descriptor that holds its lock."""
    name = str(uuid7())
    # The folder gets its name only once it is locked, so that nobody takes it for an abandoned one.
    unfinished = private_folder(root / f".{name}")
    lock = os.open(unfinished / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return unfinished.rename(root / name), lock


def private_folder(folder: Path) -> Path:
    """Create the folder if it is missing, and make it its owner's alone, whatever the umask or its present mode is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(PermissionError):  # another user owns it, and decides who may read it
        folder.chmod(0o700)
    return folder


def make_private(root: Path) -> None:
    """Create `root`, and restrict our files in it to their owner: earlier versions left their modes to the umask."""
    private_folder(root)
    for name in OURS:
        _hide_file(root / name)
    for folder in (*journals(root), *(root / name for name in (DAMAGED, REFUSED) if (root / name).is_dir())):
        with suppress(FileNotFoundError):  # stored and removed meanwhile
            for file in private_folder(folder).iterdir():
                _hide_file(file)


def machine_id(root: Path) -> str:
    """This machine's id, kept beside the journals and created if missing. Raises OSError if that fails."""
    return made_once(private_folder(root) / MACHINE, lambda: str(uuid7()))


def journals(root: Path) -> list[Path]:
    """The folders of all workers, including those that have ended, oldest first."""
    with suppress(FileNotFoundError):
        return sorted(path for path in root.iterdir() if is_uuid(path.name) and (path / LOCK).is_file())
    return []


def is_abandoned(journal: Path) -> bool:
    """Whether the worker of this folder has ended."""
    with open_locked(journal / LOCK) as is_ours:
        return is_ours


@contextmanager
def open_locked(path: Path) -> Iterator[bool]:
    """Try to lock the file, and yield whether that worked; the lock is released on exit."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _try_lock(descriptor)
    finally:
        os.close(descriptor)


def remove(journal: Path) -> None:
    """Remove our files from an abandoned folder whose entries are all stored, and the folder if it is then empty."""
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
    """The marker that begins each record of a segment: the random part of its journal's name."""
    return b"" if segment.suffix == _UNMARKED else UUID(segment.parent.name).bytes[8:]


def segments(journal: Path) -> list[int]:
    """The numbers of the existing segments, in order. Called many times a second."""
    with suppress(FileNotFoundError), os.scandir(journal) as files:
        return sorted({int(file.name[:_DIGITS]) for file in files if _SEGMENT.fullmatch(file.name) and file.is_file()})
    return []


def keep_damaged(journal: Path, number: int) -> Path:
    """Move a damaged segment aside, once all its whole records have been read; gives its new path."""
    path = segment(journal, number)
    kept = private_folder(journal.parent / DAMAGED) / f"{journal.name}-{path.name}"
    return path.replace(kept)


def damaged(root: Path) -> list[Path]:
    """The segments that were moved aside because something in them is damaged."""
    return sorted(path for path in (root / DAMAGED).glob("*") if path.suffix in (_SUFFIX, _UNMARKED))


def refused(root: Path) -> list[Path]:
    """The files of streams that Postgres refused; other files in that folder are ignored."""
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
    """Whether a file is named as streams and workers are."""
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
