"""What `pytest -m` selects: a test's tier follows from what it uses."""

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
    options = ["-n0", "-q", "--collect-only", "-p", "no:cacheprovider", "-m", chosen]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *ONE_OF_EACH], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line} == selected


def test_real_clients_run_only_where_they_are_asked_for(pytestconfig: pytest.Config) -> None:
    assert pytest_ignore_collect(ROOT / "tests" / "clients", pytestconfig) is True
    assert pytest_ignore_collect(ROOT / "tests" / "core", pytestconfig) is None
