"""Memory on pages of 2 MB. A call touches a bit of everything that a server has loaded, over a hundred MB, and on a
virtual machine finding a page of 4 kB costs about as much as what is done with it."""

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

PAGE_BYTES = 2 * 1024 * 1024
# madvise(2): move these pages together now, whatever is set for others. Since Linux 6.1.
_COLLAPSE = 25
_MAPS = Path("/proc/self/maps")
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# The heap and anonymous memory; memory mapped from files stays as it is.
_PRIVATE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p [0-9a-f]+ 00:00 0\s*(?:\[heap\])?")


def collapse() -> None:
    """Move what this process has in memory so far to such pages. That takes a third of a second per 100 MB, and hardly
    any more memory. If the system cannot do that, or was told not to (`never`), everything stays as it is."""
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
    """The stretches of whole pages: where each begins, and its length (bytes); `maps` is as in proc_pid_maps(5)."""
    for line in maps.splitlines():
        if found := _PRIVATE.fullmatch(line):
            start = -(-int(found[1], 16) // PAGE_BYTES) * PAGE_BYTES
            end = int(found[2], 16) // PAGE_BYTES * PAGE_BYTES
            if start < end:
                yield start, end - start
