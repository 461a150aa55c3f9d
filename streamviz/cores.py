"""How many cores this process may use: what the machine has, less what its affinity and its control groups leave it.
And who comes first where there are too few."""

import os
import time
from contextlib import suppress
from pathlib import Path

_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_SESSION = Path("/proc/self/autogroup")
_TRIES, _TRY_SECONDS = 10, 0.1


def usable(own_groups: Path = _OWN_GROUPS, groups: Path = _GROUPS) -> int:
    """At least one. Of a quota of 2.5 cores two are counted: the rest is for what runs beside the servers."""
    return max(1, int(min([_allowed(), *_quotas(own_groups, groups)])))


def give_way(niceness: int) -> None:
    """Be so much nicer to whoever wants the same core.

    Linux may share cores among sessions first (sched(7): autogroups). Then being nice only counts within a session, so
    a process that leads one makes that as nice.
    """
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # another system, or another kernel
            _set_session(str(niceness))


def _set_session(niceness: str) -> None:
    """Raises OSError where that cannot be. Of all processes that are not root's one in 0.1 s may set its own."""
    for _ in range(_TRIES):
        try:
            _SESSION.write_text(niceness)
        except BlockingIOError:
            time.sleep(_TRY_SECONDS)
        else:
            return


def _allowed() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quotas(own_groups: Path, groups: Path) -> list[float]:
    """Of the groups that this process is in, and of those around them: how many cores each may use, if not all. In a
    container the path may be the host's; then none but the root of what is mounted is there."""
    found: list[float] = []
    for line in _read(own_groups).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            found += [_quota(_read(folder / "cpu.max").split()) for folder in _around(groups, path)]
        elif "cpu" in controllers.split(","):
            for folder in _around(groups / "cpu", path):
                words = [_read(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
                found.append(_quota(words))
    return found


def _around(root: Path, path: str) -> list[Path]:
    inside = Path(path.lstrip("/"))
    return [root / each for each in (inside, *inside.parents)]


def _quota(words: list[str]) -> float:
    """µs of time in each period of so many µs; "max", -1 and nothing at all are no limit."""
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):
        return float("inf")
    return int(words[0]) / int(words[1])


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
