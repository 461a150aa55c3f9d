"""Tiers, and shared fixtures: a Postgres server, Redis, a browser, and streamviz itself as real processes."""

import fcntl
import gc
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection
from playwright.sync_api import Browser, sync_playwright

from streamviz import huge_pages
from streamviz.ops.embedded_postgres import DATABASE, django_settings
from streamviz.records import database_settings
from streamviz.upstream import estimates
from streamviz.upstream.providers import PROVIDERS
from tests.certificates import read_once
from tests.emptying import empty_quickly
from tests.recordings import RECORDINGS
from tests.services import (
    NewDatabase,
    Redis,
    Serving,
    Streamviz,
    chromium_program,
    copied_postgres,
    fresh_database,
    make_migrated,
    migrate,
)
from tests.static_files import find_once
from tests.thorough import examples, leaves_out_slow
from tests.tiers import held_to_its_tier, hold_to_tiers, tier

# No deadline: how long an example takes depends on how busy the machine is, and must not decide whether a test passes.
hypothesis.settings.register_profile(
    "untimed", max_examples=examples(), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")
empty_quickly()
find_once()
read_once()
hold_to_tiers()
platform.processor()  # OpenAI's SDK asks for it; Python runs a program to find out, and remembers
# Hashing is slow on purpose, to make guessing expensive; at the default each password costs a test half a second. The
# hash contains its number of iterations, so servers can check it.
PBKDF2PasswordHasher.iterations = 1_000

PROCESSES = 4
WITHOUT_WAITING = [Path(__file__).parent / name for name in ("core", "exchange")]
# The share of a run's files after which all e2e ones have begun.
WAITING_UNTIL = 0.8
# For a Postgres that is thrown away. Truncating a table scans all shared buffers, so there are few; and nothing lives
# long enough to be vacuumed.
FOR_TESTS = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "32MB", "autovacuum": "off"}
HTTPX_SENDS = (httpx.Client.send, httpx.AsyncClient.send)
COUNT_TOKENS = estimates._count
CHROMIUM_FLAGS = [
    "--no-sandbox",  # it does not start as root otherwise
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # otherwise each page of a test gets a process that parses all scripts again
]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect the tests with real clients only if asked for by name, as these are downloaded from their registries."""
    is_wanted = config.option.markexpr == "clients" or collection_path.parts[-2:] != ("tests", "clients")
    return None if is_wanted else True


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run tests in four processes, as most wait for others half of the time; those that never wait, in one a core, as
    each process imports and collects everything."""
    chosen = [(config.rootpath / argument.partition("::")[0]).resolve() for argument in config.args]
    is_waiting = not all(any(path.is_relative_to(each) for each in WITHOUT_WAITING) for path in chosen)
    return PROCESSES if is_waiting else min(PROCESSES, os.cpu_count() or 1)


def pytest_collection() -> None:
    """Collect no garbage while importing and collecting: everything stays, and scanning it takes a third of the
    time."""
    gc.disable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test with its tier, so that -m can select by it."""
    item.add_marker(tier(item))


@pytest.hookimpl(trylast=True)  # pytest-django moves all tests that need a database to the front
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow tests, unless this run wants them, and put the others in order."""
    if leaves_out_slow(config):
        slow = {item for item in items if item.get_closest_marker("slow")}
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]
    spread(items)


def spread(items: list[pytest.Item]) -> None:
    """Spread the files of the e2e tests over the run: they wait more than they compute, so others should run at the
    same time, and no process should be left waiting for one at the end."""
    waiting: dict[Path, float] = {}
    others: dict[Path, float] = {}
    for item in items:
        waits = item.get_closest_marker("e2e") is not None
        (waiting if waits else others)[item.path] = 0.0
    # Similar files have similar names: the browser tests, which compute the most, must not all run at once.
    mixed = sorted(waiting, key=lambda path: sha256(path.name.encode()).digest())
    for files, order, until in ((waiting, mixed, WAITING_UNTIL), (others, list(others), 1.0)):
        files.update({path: until * number / len(order) for number, path in enumerate(order)})
    items.sort(key=lambda item: (waiting if item.path in waiting else others)[item.path])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say that the slow tests were left out, because pytest-xdist does not."""
    if leaves_out_slow(config):
        terminalreporter.write_line("Without the slow tests; `THOROUGH=1 make test` runs them too.")


def pytest_collection_finish() -> None:
    """Exempt everything that exists by now from garbage collection: scanning it takes a sixth of the tests' time, and
    even a single collection, which frees little, takes 1.5 s in each process."""
    gc.freeze()
    huge_pages.collapse()
    gc.set_threshold(20_000)  # tests' garbage is still collected soon enough
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Hold a test's fixtures to its tier. (Not their ends: those that live longer than the test may end here.)"""
    with held_to_its_tier(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hold a test to its tier."""
    with held_to_its_tier(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """If a test that used streamviz's processes fails, show their output in its report."""
    report: Any = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Streamviz):
                report.sections.append(("what streamviz said", value.output()))
    return report


def missing(what: str) -> None:
    """Skip a test because a program is missing; fail it in CI, where all must be installed."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed, and under CI it must be", pytrace=False)
    pytest.skip(f"{what} is not installed")


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No provider's variables are set."""
    known = {variable for provider in PROVIDERS.values() for variable in provider.variables}
    for name in os.environ:
        if name in known or re.search(r"(API_KEY|API_BASE|BASE_URL|TOKEN)$", name):
            monkeypatch.delenv(name)
    return monkeypatch


@pytest.fixture(autouse=True)
def as_without_litellm() -> Iterator[None]:
    """Undo what loading LiteLLM changes: httpx would call nothing but models, and its tokenizer would count tokens."""
    yield
    httpx.Client.send, httpx.AsyncClient.send = HTTPX_SENDS  # type: ignore[method-assign]
    estimates.count_by(COUNT_TOKENS)


@pytest.fixture(scope="session")
def migrated_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Postgres data directory after `manage.py migrate`, to be copied; made once for all processes of a run."""
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    data = folder / "postgres"
    with (folder / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not data.exists():
            make_migrated(data)
    return data


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Django's settings for a database on a running server: DATABASE_URL's, or else one started for this test run."""
    if given := database_settings.postgres("DATABASE_URL"):
        yield given
        return
    with copied_postgres(request.getfixturevalue("migrated_data"), **FOR_TESTS) as server:
        yield django_settings(server.data)


@pytest.fixture(scope="session")
def migrated(postgres: dict[str, Any]) -> Iterator[str]:
    """The name of a migrated database: copying it takes a hundredth of the time of `manage.py migrate`."""
    if not database_settings.postgres("DATABASE_URL"):
        yield DATABASE
        return
    with fresh_database(postgres) as url:
        migrate(url)
        yield urlsplit(url).path[1:]


# For example connections of a thread that waits for work, or of a process that is just exiting.
END_OTHERS = """
SELECT query FROM (
    SELECT query, pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
) AS ended
"""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Close other connections before Django drops the database, which fails while any is open."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(END_OTHERS)
        for (query,) in cursor.fetchall():
            print(f"a connection to the tests' database was left open; its last query: {query}")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres: dict[str, Any], migrated: str) -> None:
    """Point Django at that server; pytest-django calls this before it creates the test database."""
    settings.DATABASES["default"].update(postgres)
    settings.DATABASES["default"]["TEST"]["TEMPLATE"] = migrated


@pytest.fixture(scope="session")
def new_database(postgres: dict[str, Any], migrated: str) -> NewDatabase:
    """Creates databases as `manage.py migrate` leaves them."""
    return partial(fresh_database, postgres, migrated)


@pytest.fixture
def database_url(new_database: NewDatabase) -> Iterator[str]:
    """The DATABASE_URL of a migrated database for this test alone."""
    with new_database() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A running Redis: REDIS_URL's, or else one started for this test run."""
    if given := os.environ.get("REDIS_URL"):
        yield given
        return
    program = shutil.which("redis-server")
    if not program:
        missing("Redis")
    with Redis(program or "") as redis:
        yield redis.url


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser. While it runs, its thread counts as asynchronous: no ORM and no async tests in the same module."""
    program = chromium_program()
    if not program:
        missing("Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def make_server(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Streamviz]]:
    """Creates a streamviz for this test alone, not started yet; settings are keyword arguments."""
    made: list[Streamviz] = []

    def make(**environment: str) -> Streamviz:
        made.append(Streamviz(tmp_path_factory.mktemp("var"), {"DATABASE_URL": database_url, **environment}))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture(scope="session")
def serving(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Serving:
    """Starts a streamviz with a database of its own; settings are keyword arguments."""

    @contextmanager
    def serve(**environment: str) -> Iterator[Streamviz]:
        with new_database() as url:
            server = Streamviz(tmp_path_factory.mktemp("var"), {"DATABASE_URL": url, **environment})
            try:
                yield server.start()
            finally:
                server.stop()

    return serve


@pytest.fixture(scope="session")
def shared_server(serving: Serving) -> Iterator[Streamviz]:
    """A streamviz for all tests that leave nothing behind for others: they use their own names for routes and sessions,
    and switch policies back. The simulator counts as a provider too, and a site may call models."""
    with serving(SIMULATED_KEY="sk-simulated", CORS_ORIGINS="https://app.example") as server:
        yield server


@pytest.fixture(scope="session")
def replaying_server(serving: Serving) -> Iterator[Streamviz]:
    """Like `shared_server`, but its simulator replays the recorded streams, which no other test should load."""
    with serving(SIMULATOR_REPLAY_DIR=str(RECORDINGS)) as server:
        yield server
