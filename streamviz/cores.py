"""How many cores and how much memory this process may use: what the machine has, within its CPU affinity and control
groups. And who comes first if there are too few cores."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_SESSION = Path("/proc/self/autogroup")
_MEMORY_LIMIT = {1: "memory.limit_in_bytes", 2: "memory.max"}
_TRIES, _TRY_SECONDS = 10, 0.1


def usable(own_groups: Path = _OWN_GROUPS, groups: Path = _GROUPS) -> int:
    """The usable cores, at least one. A quota of 2.5 counts as two: the rest is for what runs next to the servers."""
    quotas = (_quota(*each) for each in _limiting("cpu", own_groups, groups))
    return max(1, int(min([_allowed(), *quotas])))


def memory(own_groups: Path = _OWN_GROUPS, groups: Path = _GROUPS) -> int:
    """The usable memory in bytes: the machine's, or the lowest limit of a group around this process."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = _limiting("memory", own_groups, groups)
    limits = (_read(folder / _MEMORY_LIMIT[version]).strip() for version, folder in found)
    return min([machine, *(int(limit) for limit in limits if limit.isdecimal())])


def give_way(niceness: int) -> None:
    """Raise this process's niceness by this much.

    Linux may share cores among sessions first (sched(7): autogroups). Niceness then only counts within a session, so a
    process that leads one sets the same niceness for the session.
    """
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # another system, or a kernel without autogroups
            _set_session(str(niceness))


def _set_session(niceness: str) -> None:
    """Raises OSError if that is not possible. Of all processes that are not root's, one per 0.1 s may set its own."""
    for _ in range(_TRIES):
        try:
            _SESSION.write_text(niceness)
        except BlockingIOError:
            time.sleep(_TRY_SECONDS)
        else:
            return


def _allowed() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _limiting(what: str, own_groups: Path, groups: Path) -> Iterator[tuple[int, Path]]:
    """The control groups that this process is in and those around them: version and folder. In a container the path may
    be the host's; then only the root of the mounted hierarchy exists."""
    for line in _read(own_groups).splitlines():
        _, _, named = line.partition(":")
        controllers, separator, path = named.partition(":")
        if separator and not controllers:
            yield from ((2, folder) for folder in _around(groups, path))
        elif what in controllers.split(","):
            yield from ((1, folder) for folder in _around(groups / what, path))


def _around(root: Path, path: str) -> list[Path]:
    inside = Path(path.lstrip("/"))
    return [root / each for each in (inside, *inside.parents)]


def _quota(version: int, folder: Path) -> float:
    """How many cores a group may use: CPU time per period, both in µs. "max", -1 and an empty file are no limit."""
    names = ["cpu.max"] if version == 2 else ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
    words = " ".join(_read(folder / name) for name in names).split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):
        return float("inf")
    return int(words[0]) / int(words[1])


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
