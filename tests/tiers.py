"""A test's tier: what it needs decides it, and a unit test cannot start a process."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

# The fixtures of conftest.py files that start a process, Postgres among them, or need one that runs.
PROCESS_FIXTURES = {
    *("db", "transactional_db", "django_db_setup", "postgres", "migrated_data", "database_url"),
    *("redis_url", "chromium", "simulator_port", "fast_port", "plain_port"),
}
# Everything that starts a process ends up at one of these.
_STARTS = [(subprocess.Popen, "__init__"), (BaseProcess, "start"), (os, "posix_spawn"), (os, "fork")]
# Whether a unit test runs, or its fixtures begin.
_is_unit = False


def tier(item: pytest.Item) -> str:
    """A test's tier: real clients, everything as a user has it, Postgres or another process, or none of these.

    A test or module that starts a process without a fixture of PROCESS_FIXTURES is marked `integration`.
    """
    if "clients" in item.path.parts:
        return "clients"
    if "e2e" in item.path.parts:
        return "e2e"
    is_marked = item.get_closest_marker("django_db") or item.get_closest_marker("integration")
    return "integration" if is_marked or PROCESS_FIXTURES & set(getattr(item, "fixturenames", ())) else "unit"


def hold_to_tiers() -> None:
    """From now on, a unit test that starts a process fails; pytest-django sees to it that it does not use the
    database."""
    for owner, name in _STARTS:
        setattr(owner, name, _held(getattr(owner, name)))


@contextmanager
def held_to_its_tier(item: pytest.Item) -> Iterator[None]:
    """Hold what runs meanwhile to a test's tier."""
    global _is_unit
    _is_unit = item.get_closest_marker("unit") is not None
    try:
        yield
    finally:
        _is_unit = False


def _held(start: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(start)
    def unless_unit(*args: Any, **values: Any) -> Any:
        if _is_unit:
            pytest.fail("a unit test starts a process: it or its module needs the mark `integration`")
        return start(*args, **values)

    return unless_unit
