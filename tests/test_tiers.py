"""What `pytest -m` selects: a test's tier follows from what it uses."""

import os
import subprocess
import sys

import pytest

from tests.conftest import pytest_ignore_collect
from tests.services import ROOT

ONE_OF_EACH = ["tests/test_bounded.py", "tests/records/test_deletion.py", "tests/e2e/test_crash.py"]


@pytest.mark.parametrize(
    ("chosen", "selected"),
    [
        ("unit", {"tests/test_bounded.py"}),
        ("not e2e", {"tests/test_bounded.py", "tests/records/test_deletion.py"}),
    ],
)
def test_a_tier_selects_its_tests(chosen: str, selected: set[str]) -> None:
    assert {test.partition("::")[0] for test in collected("-m", chosen, *ONE_OF_EACH)} == selected


@pytest.mark.thorough
def test_what_takes_long_is_left_to_a_thorough_run() -> None:
    tests = "tests/dashboard/test_huge_streams.py"
    left = set(collected(tests, THOROUGH="1")) - set(collected(tests, THOROUGH=""))
    assert f"{tests}::test_many_calls_of_many_arguments" in left
    assert f"{tests}::test_chunks_of_megabytes" not in left


def collected(*options: str, **environment: str) -> list[str]:
    """The tests that pytest would run."""
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "--collect-only", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_real_clients_run_only_where_they_are_asked_for(pytestconfig: pytest.Config) -> None:
    assert pytest_ignore_collect(ROOT / "tests" / "clients", pytestconfig) is True
    assert pytest_ignore_collect(ROOT / "tests" / "core", pytestconfig) is None
