"""A test that loses its connection to Postgres does not affect those after it. These tests run in this order."""

import psycopg
import pytest
from django.db import connection

from streamviz.records.database import conninfo
from streamviz.records.models import Session


def pid() -> int:
    """The process id of the server process behind Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_a_test_may_lose_its_connection_to_postgres() -> None:
    with psycopg.connect(conninfo(), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid()]).fetchone() == (True,)


@pytest.mark.django_db(transaction=True)
def test_the_next_test_has_a_connection_and_may_leave_a_lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(7)")
    assert Session.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_lock_that_a_test_left_is_gone_after_it() -> None:
    with psycopg.connect(conninfo(), autocommit=True) as other:
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = %s"
        assert other.execute(held, [pid()]).fetchone() == (0,)
