import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamviz import cores


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))


@pytest.fixture
def two_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    has = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**19}
    monkeypatch.setattr("os.sysconf", has.__getitem__)


def usable(tmp_path: Path, own: str, **files: str) -> int:
    """`files` by path, with `__` for a slash and `_of_` before the suffix."""
    for name, text in files.items():
        file = tmp_path / "cgroup" / name.replace("__", "/").replace("_of_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "own").write_text(own)
    return cores.usable(tmp_path / "own", tmp_path / "cgroup")


def test_without_control_groups_it_is_what_the_process_may_run_on(tmp_path: Path) -> None:
    assert cores.usable(tmp_path / "none", tmp_path) == 8


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("max 100000", 8),
        ("300000 100000", 3),
        ("250000 100000", 2),
        ("50000 100000", 1),
        ("9900000 100000", 8),
        ("odd", 8),
        ("1 0", 8),
    ],
)
def test_a_quota_of_version_2_counts(tmp_path: Path, quota: str, expected: int) -> None:
    assert usable(tmp_path, "0::/\n", cpu_of_max=f"{quota}\n") == expected


def test_the_quotas_of_the_groups_around_count(tmp_path: Path) -> None:
    files = {"cpu_of_max": "max 100000", "pods__cpu_of_max": "200000 100000", "pods__a__cpu_of_max": "400000 100000"}
    assert usable(tmp_path, "0::/pods/a\n", **files) == 2


def test_a_path_of_the_hosts_that_a_container_does_not_see(tmp_path: Path) -> None:
    assert usable(tmp_path, "0::/kubepods/pod-1/abc\n", cpu_of_max="200000 100000") == 2


def test_a_quota_of_version_1_counts(tmp_path: Path) -> None:
    files = {"cpu__docker__a__cpu_of_cfs_quota_us": "300000\n", "cpu__docker__a__cpu_of_cfs_period_us": "100000\n"}
    assert usable(tmp_path, "5:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n", **files) == 3


def test_in_version_1_less_than_nothing_is_no_quota(tmp_path: Path) -> None:
    files = {"cpu__cpu_of_cfs_quota_us": "-1\n", "cpu__cpu_of_cfs_period_us": "100000\n"}
    assert usable(tmp_path, "4:cpu,cpuacct:/\n", **files) == 8


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/pods/a\n", {"pods/memory.max": "1000000"}, 1_000_000),
        ("0::/pods/a\n", {"pods/memory.max": "1000000", "pods/a/memory.max": "3000000"}, 1_000_000),
        ("0::/kubepods/pod-1\n", {"memory.max": "1000000\n"}, 1_000_000),
        ("4:memory:/docker/a\n", {"memory/docker/a/memory.limit_in_bytes": "1000000\n"}, 1_000_000),
        ("0::/\n", {"memory.max": "max\n"}, 2**31),
        ("0::/\n", {"memory.max": "odd\n"}, 2**31),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": str(2**63 - 4096)}, 2**31),
        ("odd\n0::/\n", {"memory.max": "1000000\n"}, 1_000_000),
        ("", {}, 2**31),
    ],
)
def test_memory_is_what_the_groups_leave_of_the_machines(
    two_gigabytes: None, tmp_path: Path, own: str, files: dict[str, str], expected: int
) -> None:
    for name, limit in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(limit)
    (tmp_path / "own").write_text(own)
    assert cores.memory(tmp_path / "own", tmp_path / "cgroup") == expected


AUTOGROUP = Path("/proc/self/autogroup")
# Not as root: its processes may set their session's niceness at any time, all others together once per 0.1 s.
# PR_SET_DUMPABLE then gives the process its files below /proc back.
SAYS = f"""
import ctypes, os, pathlib
from streamviz.cores import give_way
if os.getuid() == 0:
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1)
give_way(7)
file = pathlib.Path("{AUTOGROUP}")
print(os.nice(0), file.read_text() if file.exists() else "")
"""
# Start the command in another process's session, as from a terminal.
WITHIN = "import subprocess, sys; subprocess.run(sys.argv[1:], check=True)"


@pytest.mark.integration
@pytest.mark.parametrize(("before", "of_session"), [([], "7"), ([sys.executable, "-c", WITHIN], "0")])
def test_who_gives_way_does_so_to_other_sessions_where_it_has_its_own(before: list[str], of_session: str) -> None:
    command = [*before, sys.executable, "-c", SAYS]
    running = [subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [each.communicate()[0].split() for each in running]
    own = min(os.nice(0) + 7, 19)  # the tests themselves may run at a higher nice value
    assert [each[0] for each in said] == [str(own)] * 4
    if AUTOGROUP.exists():  # other kernels share cores among processes only
        assert [each[-1] for each in said] == [of_session] * 4
