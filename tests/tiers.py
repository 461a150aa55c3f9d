"""A test's tier: what it needs decides it, and a unit test cannot start a process."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import NoReturn

import pytest

# The fixtures of conftest.py files that start a process, Postgres among them, or need one that runs.
PROCESS_FIXTURES = {
    *("db", "transactional_db", "django_db_setup", "postgres", "migrated_data", "database_url"),
    *("redis_url", "chromium", "simulator_port", "fast_port", "plain_port"),
}
# Everything that starts a process ends up at one of these.
_STARTS = [(subprocess.Popen, "__init__"), (BaseProcess, "start"), (os, "posix_spawn"), (os, "fork")]


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


@contextmanager
def held_to_its_tier(item: pytest.Item) -> Iterator[None]:
    """Let a unit test fail if it starts a process; pytest-django sees to it that it does not use the database."""
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("unit"):
            for owner, name in _STARTS:
                patch.setattr(owner, name, _refuse)
        yield


def _refuse(*_: object, **__: object) -> NoReturn:
    pytest.fail("a unit test starts a process: it or its module needs the mark `integration`")
