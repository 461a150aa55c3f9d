"""How the streams of a former database come to lie in partitions, while others use them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction

from streamviz.records.database import conninfo
from streamviz.records.migrations import _days
from streamviz.records.partitions import STREAMS
from tests.e2e.proxied import until
from tests.records.conftest import Query
from tests.records.former import as_former, former_database

pytestmark = pytest.mark.slow


class Partitioning:
    """The step that partitions streams, run on a former database, with a hook before each statement."""

    def __init__(self, url: str) -> None:
        self.statements: list[str] = []
        self.before: Callable[[str], None] = lambda _: None
        self._connection = connections["former"]
        self._url = url

    def run(self) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 20")
        with self._connection.execute_wrapper(self._see):
            _days.partition(None, SimpleNamespace(connection=self._connection))

    def _see(self, execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
        self.statements.append(statement)
        self.before(statement)
        return execute(statement, *rest)

    def number(self, part: str) -> int:
        """How many statements contain this."""
        return sum(part in each for each in self.statements)

    def left(self) -> list[str]:
        """The tables that refuse rows of later days."""
        with psycopg.connect(self._url) as connection:
            found = connection.execute(
                "SELECT conrelid::regclass::text FROM pg_constraint WHERE conname = 'before_days'"
            )
            return [name for (name,) in found]


@pytest.fixture
def former_url(postgres: dict[str, Any]) -> Iterator[str]:
    """The URL of a database that is not partitioned yet."""
    with former_database(postgres, "0036") as url:
        yield url


@pytest.fixture
def partitioning(
    former_url: str, monkeypatch: pytest.MonkeyPatch, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Partitioning]:
    monkeypatch.setattr(_days, "PAUSE_SECONDS", 0)
    with django_db_blocker.unblock(), as_former(former_url):
        yield Partitioning(former_url)


def test_a_reader_is_waited_for_without_reading_all_again(partitioning: Partitioning, former_url: str) -> None:
    with psycopg.connect(former_url) as reader:

        def see(statement: str) -> None:
            if statement == _days._LOCK:
                is_first = partitioning.number(_days._LOCK) == 1
                reader.execute("SELECT FROM records_block" if is_first else "ROLLBACK")

        partitioning.before = see
        partitioning.run()
    assert partitioning.number(_days._LOCK) == 2
    assert partitioning.number("VALIDATE") == len(STREAMS)
    assert partitioning.left() == []


def test_given_up_it_leaves_tables_that_take_all_days(
    partitioning: Partitioning, former_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_days, "TRIES", 3)
    with psycopg.connect(former_url) as reader:

        def see(statement: str) -> None:
            if statement == _days._LOCK:
                reader.execute("SELECT FROM records_stream")
            elif "stall DROP" in statement and partitioning.number(_days._LOCK):
                # The first attempt is over.
                assert partitioning.left() == ["records_stream", "records_stall"]
                reader.rollback()

        partitioning.before = see
        with pytest.raises(OperationalError, match="are in use"):
            partitioning.run()
    assert partitioning.left() == []


def test_what_it_has_to_leave_bounded_is_in_the_log(
    partitioning: Partitioning, former_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_days, "TRIES", 3)
    with psycopg.connect(former_url) as reader:

        def see(statement: str) -> None:
            if statement == _days._LOCK:
                reader.execute("SELECT FROM records_block")

        partitioning.before = see
        with pytest.raises(OperationalError, match="are in use"):
            partitioning.run()
    assert partitioning.left() == ["records_block"]
    [said] = [record.getMessage() for record in caplog.records if record.name == _days.__name__]
    assert said.endswith("ALTER TABLE records_block DROP CONSTRAINT IF EXISTS before_days")


def test_a_lock_that_came_to_a_deadlock_is_tried_again(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_days, "PAUSE_SECONDS", 0)
    tries: list[str] = []

    def step() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL deadlock_timeout = 10")
            cursor.execute("LOCK records_stall IN ACCESS EXCLUSIVE MODE")
            tries.append("again" if tries else "once")
            if len(tries) == 1:
                has_locked.set()
                until(lambda: bool(query("SELECT 1 FROM pg_locks WHERE locktype = 'relation' AND NOT granted")))
            cursor.execute("LOCK records_lintnote IN ACCESS EXCLUSIVE MODE")

    def lock_otherwise() -> None:
        with psycopg.connect(conninfo()) as connected:
            connected.execute("SET deadlock_timeout = 60000; LOCK records_lintnote IN ACCESS EXCLUSIVE MODE")
            has_locked.wait()
            connected.execute("LOCK records_stall IN ACCESS EXCLUSIVE MODE")

    has_locked = Event()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lock_otherwise)
        until(lambda: bool(query("SELECT 1 FROM pg_locks WHERE relation = 'records_lintnote'::regclass")))
        _days._patiently(step)
        other.result()
    assert len(tries) > 1


def test_interrupted_it_leaves_tables_that_take_all_days(partitioning: Partitioning) -> None:
    def interrupt(statement: str) -> None:
        if statement.startswith("ALTER TABLE records_block VALIDATE"):
            raise KeyboardInterrupt

    partitioning.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        partitioning.run()
    assert partitioning.number("ADD CONSTRAINT before_days") == 2
    assert partitioning.left() == []
