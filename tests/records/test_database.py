"""Connections that requests share (DATABASE_POOL), and those that are separate."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.db.utils import ConnectionHandler
from psycopg.conninfo import conninfo_to_dict

from streamviz.records import database_settings
from streamviz.records.database import conninfo

pytestmark = pytest.mark.django_db
MOST = 3


@pytest.fixture
def pooled() -> Iterator[ConnectionHandler]:
    """The test's database, through a pool."""
    handler = ConnectionHandler({"default": database_settings.pooled(dict(connection.settings_dict), MOST)})
    yield handler
    handler.close_all()
    wrapper: Any = handler["default"]  # its stubs know no pools
    wrapper.close_pool()


def served(pooled: ConnectionHandler) -> int:
    """Do what a request does, in this thread; returns the process id of the connection's server process."""
    with pooled["default"].cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [pid] = cursor.fetchone()
    pooled["default"].close_if_unusable_or_obsolete()
    return int(pid)


def test_the_next_request_takes_the_same_connection(pooled: ConnectionHandler) -> None:
    assert served(pooled) == served(pooled)


def test_there_are_as_many_connections_as_the_pool_has_and_no_more(pooled: ConnectionHandler) -> None:
    together = Barrier(MOST)

    def hold() -> int:
        with pooled["default"].cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [pid] = cursor.fetchone()
            together.wait(60)
        pooled["default"].close()
        return int(pid)

    with ThreadPoolExecutor(2 * MOST) as threads:
        pids = [each.result() for each in [threads.submit(hold) for _ in range(2 * MOST)]]
    assert len(set(pids)) == MOST


def test_a_connection_that_died_is_replaced(pooled: ConnectionHandler) -> None:
    before = served(pooled)
    with psycopg.connect(conninfo(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [before])
    assert served(pooled) != before


def test_what_listens_is_connected_outside_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = conninfo()
    monkeypatch.setitem(settings.DATABASES, "default", database_settings.pooled(dict(connection.settings_dict), MOST))
    assert conninfo_to_dict(conninfo()) == conninfo_to_dict(plain)


def test_without_a_pool_nothing_changes() -> None:
    assert database_settings.pooled({"OPTIONS": {}}, 0) == {"OPTIONS": {}}
