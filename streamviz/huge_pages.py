"""Memory on pages of 2 MB: a call touches some of all that a server has loaded, which is over a hundred MB, and where
the system is a virtual machine, to find a page of 4 kB costs about as much as what is done with it."""

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

PAGE_BYTES = 2 * 1024 * 1024
# madvise(2): move these pages together now, whatever is set for others. Since Linux 6.1.
_COLLAPSE = 25
_MAPS = Path("/proc/self/maps")
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# The heap, and what has no name: memory of files stays as it is.
_PRIVATE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p [0-9a-f]+ 00:00 0\s*(?:\[heap\])?")


def collapse() -> None:
    """Move what this process has in memory by now to such pages. That takes a third of a second for each 100 MB, and
    hardly any more memory. Where the system does not do that, or was told not to (`never`), all stays as it is."""
    try:
        if "[never]" in _SETTING.read_text():
            return
        found = list(_whole_pages(_MAPS.read_text()))
    except OSError:  # another system
        return
    madvise = ctypes.CDLL(None).madvise
    for start, length in found:
        madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _COLLAPSE)


def _whole_pages(maps: str) -> Iterator[tuple[int, int]]:
    """Where stretches of whole pages begin, and how long they are (bytes); `maps` is as in proc_pid_maps(5)."""
    for line in maps.splitlines():
        if found := _PRIVATE.fullmatch(line):
            start = -(-int(found[1], 16) // PAGE_BYTES) * PAGE_BYTES
            end = int(found[2], 16) // PAGE_BYTES * PAGE_BYTES
            if start < end:
                yield start, end - start
