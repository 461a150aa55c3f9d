"""Which database is queried if there is a replica."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.db.utils import ConnectionHandler
from django.test.utils import CaptureQueriesContext

from streamviz.records import replica
from streamviz.records.models import Stream


def test_only_what_is_read_there_goes_to_the_replica() -> None:
    router = replica.Router()
    with replica.reading():
        assert router.db_for_read(Stream) == replica.ALIAS
        assert router.db_for_write(Stream) == "default"
    assert router.db_for_read(User) == "default"
    assert not router.allow_migrate(replica.ALIAS, "records")
    assert router.allow_migrate("default", "records")


@pytest.fixture
def usable(db: None, postgres: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[replica.Health]:
    """The health of a replica, without further checks; it is the same Postgres server."""
    health = replica.Health()
    health.trouble = ""
    found = ConnectionHandler({"default": postgres, replica.ALIAS: {**postgres, "NAME": "postgres"}})
    monkeypatch.setattr(replica, "connections", found)
    monkeypatch.setattr(replica, "health", health)
    monkeypatch.setattr(replica, "is_set", lambda: True)
    monkeypatch.setattr(health, "_ask_after", float("inf"))
    yield health
    found.close_all()


def test_what_fails_there_is_asked_of_the_primary(usable: replica.Health, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask() -> str:
        asked.append(replica.alias())
        if replica.alias() == replica.ALIAS:
            raise OperationalError("canceling statement due to conflict with recovery")
        return "rows"

    assert replica.read(ask) == "rows"
    assert asked == [replica.ALIAS, "default"]
    assert usable.trouble == "canceling statement due to conflict with recovery"
    monkeypatch.setattr(usable, "_ask_after", float("inf"))
    assert replica.read(ask) == "rows"
    assert asked == [replica.ALIAS, "default", "default"]


def test_a_replica_that_hangs_is_waited_for_briefly(usable: replica.Health, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "READING_SECONDS", 0.05)
    stopped: list[int] = []

    def ask() -> str:
        if replica.alias() == replica.ALIAS:
            with replica.connections[replica.ALIAS].cursor() as cursor:
                stopped.append(cursor.connection.info.backend_pid)
                os.kill(stopped[0], signal.SIGSTOP)
                cursor.execute("SELECT 1")
        return replica.alias()

    try:
        assert replica.read(ask) == "default"
    finally:
        os.kill(stopped[0], signal.SIGCONT)
    assert usable.trouble


def test_how_far_it_is_behind_is_told_by_the_clock_of_the_primary_alone(usable: replica.Health) -> None:
    """Only the primary recorded when a transaction was made; the clocks may be minutes apart."""
    primary, other = replica.connections["default"], replica.connections[replica.ALIAS]
    with CaptureQueriesContext(primary) as asked, CaptureQueriesContext(other) as asked_there:
        lag = replica._lag(False, datetime.now(UTC) - timedelta(hours=1))
    assert lag is not None
    assert lag >= 3600
    assert (len(asked), len(asked_there)) == (1, 0)
    assert (replica._lag(True, None), replica._lag(None, None)) == (0.0, None)


@pytest.mark.parametrize(
    ("is_replica", "lag", "why"),
    [(False, None, "not a replica"), (True, None, "replayed nothing"), (True, 31.0, "31 s behind"), (True, 30.0, "")],
)
def test_a_replica_that_does_not_keep_up_is_not_read(is_replica: bool, lag: float | None, why: str) -> None:
    told = replica._why_not(is_replica, lag)
    assert why in told
    assert bool(told) == bool(why)


@pytest.mark.parametrize(("name", "is_ours"), [("postgres", True), ("template1", False)])
def test_only_a_replica_of_the_same_database_is_read(
    db: None, postgres: dict[str, Any], monkeypatch: pytest.MonkeyPatch, name: str, is_ours: bool
) -> None:
    found = ConnectionHandler({"default": {**postgres, "NAME": "postgres"}, replica.ALIAS: {**postgres, "NAME": name}})
    monkeypatch.setattr(replica, "connections", found)
    assert replica.Health()._is_ours() == is_ours
    found.close_all()
