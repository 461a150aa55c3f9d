"""Memory on huge pages, in a separate process and as reported by the system."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streamviz import huge_pages
from streamviz.proxy import worker

MAPS = """\
55d0c0000000-55d0c0601000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
7f1000100000-7f1000500000 rw-p 00000000 00:00 0
7f2000000000-7f20003ff000 rw-p 00000000 fd:00 1234                       /usr/lib/libbig.so
7f3000100000-7f30002ff000 rw-p 00000000 00:00 0
7ffc00000000-7ffc00800000 rw-p 00000000 00:00 0                          [stack]
"""
HUGE = """
from streamviz import huge_pages
kept = [bytes([number % 256]) * 1000 for number in range(50_000)]
def huge():
    return [int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("AnonHugePages")][0]
before = huge()
huge_pages.collapse()
assert all(each == bytes([number % 256]) * 1000 for number, each in enumerate(kept))
print(huge() - before)
"""


def _setting() -> str:
    try:
        return Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return "[never]"


def test_whole_pages_of_the_heap_and_of_what_has_no_name_are_moved() -> None:
    assert list(huge_pages._whole_pages(MAPS)) == [(0x55D0C0000000, 0x600000), (0x7F1000200000, 0x200000)]


@pytest.mark.integration
def test_what_a_process_has_stays_what_it_was_wherever_it_lies() -> None:
    moved = int(subprocess.run([sys.executable, "-c", HUGE], capture_output=True, check=True, text=True).stdout)
    # In kB, of some 50 MB; 0 on a system that cannot do it or is configured not to.
    assert moved > 30_000 if "[never]" not in _setting() and _has_collapse() else moved == 0


def _has_collapse() -> bool:
    major, minor = Path("/proc/sys/kernel/osrelease").read_text().split(".")[:2]
    return (int(major), int(minor)) >= (6, 1)


def test_a_system_that_has_none_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(huge_pages, "_SETTING", tmp_path / "enabled")
    monkeypatch.setattr(huge_pages, "_MAPS", tmp_path / "maps")
    huge_pages.collapse()
    (tmp_path / "enabled").write_text("always madvise [never]\n")  # so memory maps are not even read
    huge_pages.collapse()
    (tmp_path / "enabled").write_text("[always] madvise never\n")
    (tmp_path / "maps").write_text("100000000000-100000400000 rw-p 00000000 00:00 0 \n")  # not mapped: refused
    huge_pages.collapse()


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_server_does_so_where_it_is_set(settings: Any, monkeypatch: pytest.MonkeyPatch, is_wanted: bool) -> None:
    settings.HUGE_PAGES, asked = is_wanted, list[bool]()
    monkeypatch.setattr(huge_pages, "collapse", lambda: asked.append(True))
    worker._move_to_huge_pages()
    assert asked == [True] * is_wanted
