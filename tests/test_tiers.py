"""What `pytest -m` selects (a test's tier follows from what it uses), and what a plain run of all tests leaves out."""

import asyncio
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import PROCESSES, pytest_ignore_collect, pytest_xdist_auto_num_workers
from tests.services import ROOT

WITH_ANOTHER_PROCESS = [
    "tests/simulator/test_app.py",
    "tests/evaluation/test_pool.py",
    "tests/ops/test_postgres_upgrade.py",
]
ONE_OF_EACH = ["tests/test_bounded.py", "tests/records/test_deletion.py", "tests/e2e/test_crash.py"]
QUICK = "tests/e2e/test_crash.py::test_nothing_that_a_client_received_is_lost_when_the_server_is_killed"
SLOW = "tests/e2e/test_crash.py::test_told_to_stop_the_server_lets_streams_end_and_refuses_new_ones"


def collected(*arguments: str, thorough: str = "") -> list[str]:
    """The tests that pytest would run with these arguments."""
    options = ["-n0", "-q", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=ROOT,
        env=os.environ | {"THOROUGH": thorough},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize(
    ("chosen", "selected"),
    [
        ("unit", {"tests/test_bounded.py"}),
        ("integration", {"tests/records/test_deletion.py", *WITH_ANOTHER_PROCESS}),
        ("not e2e", {"tests/test_bounded.py", "tests/records/test_deletion.py", *WITH_ANOTHER_PROCESS}),
    ],
)
def test_a_tier_selects_its_tests(chosen: str, selected: set[str]) -> None:
    assert {
        line.partition("::")[0] for line in collected("-m", chosen, *ONE_OF_EACH, *WITH_ANOTHER_PROCESS)
    } == selected


async def start_and_await() -> None:
    await asyncio.create_subprocess_exec("true")


STARTS: dict[str, Callable[[], object]] = {
    "subprocess": lambda: subprocess.run(["true"]),
    "asyncio": lambda: asyncio.run(start_and_await()),
    "multiprocessing": lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
    "posix_spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "fork": lambda: os.fork() or os._exit(0),
}


@pytest.fixture
def started_by_a_fixture() -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        subprocess.run(["true"])
    return str(failed.value)


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_a_unit_test_that_starts_a_process_fails(start: Callable[[], object]) -> None:
    with pytest.raises(pytest.fail.Exception, match="mark `integration`"):
        start()


def test_a_unit_test_whose_fixture_starts_a_process_fails(started_by_a_fixture: str) -> None:
    assert "mark `integration`" in started_by_a_fixture


@pytest.mark.integration
def test_a_test_that_is_marked_may_start_a_process() -> None:
    assert subprocess.run(["true"]).returncode == 0


@pytest.mark.slow
@pytest.mark.integration
def test_a_plain_run_of_all_leaves_out_the_slow_ones() -> None:
    everything = ("-o", "testpaths=tests/e2e/test_crash.py")
    assert collected(*everything) == [QUICK]
    assert collected(*everything, thorough="1") == [QUICK, SLOW]


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("chosen", [["./tests/e2e/test_crash.py"], ["-m", "e2e"], ["-k", "crash"]])
def test_a_run_of_chosen_tests_has_the_slow_ones(chosen: list[str]) -> None:
    assert collected("-o", "testpaths=tests/e2e/test_crash.py", *chosen) == [QUICK, SLOW]


def test_real_clients_run_only_where_they_are_asked_for(pytestconfig: pytest.Config) -> None:
    assert pytest_ignore_collect(ROOT / "tests" / "clients", pytestconfig) is True
    assert pytest_ignore_collect(ROOT / "tests" / "core", pytestconfig) is None


@pytest.mark.parametrize(
    ("chosen", "most"),
    [
        (["tests/core", "./tests/exchange/test_life.py::test_x"], os.cpu_count()),
        (["tests/core", "tests/e2e"], PROCESSES),
        (["tests"], PROCESSES),
    ],
)
def test_tests_that_never_wait_run_in_one_process_a_core(chosen: list[str], most: int) -> None:
    run: Any = SimpleNamespace(rootpath=ROOT, args=chosen)
    assert pytest_xdist_auto_num_workers(run) == min(PROCESSES, most)
