"""What a command says if the database closes its connection, or has a full disk."""

import psycopg
import pytest
from django.db import connection

from streamviz.ops.database_faults import fault_of

pytestmark = pytest.mark.django_db(transaction=True)


def ended_with(statement: str) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as found, connection.cursor() as cursor:
        cursor.connection.execute(statement)
    connection.close()
    return found.value


def test_a_database_that_is_stopped_meanwhile_is_one_line() -> None:
    fault = fault_of(ended_with("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert ": terminating connection due to administrator command. " in str(fault)


def test_a_full_disk_of_the_database_is_one_line() -> None:
    said = "could not extend file: No space left on device"
    fault = fault_of(ended_with(f"DO $$ BEGIN RAISE '{said}' USING ERRCODE = 'disk_full'; END $$"))
    assert str(fault).startswith("Cannot use the database at ")
    assert str(fault).endswith(f": {said}.")


def test_a_statement_that_takes_longer_than_the_database_allows_is_one_line() -> None:
    fault = fault_of(ended_with("SET statement_timeout = 1; SELECT pg_sleep(60)"))
    assert str(fault).endswith(": canceling statement due to statement timeout.")


def test_a_replica_in_place_of_the_primary_is_one_line() -> None:
    fault = fault_of(ended_with("SET TRANSACTION READ ONLY; CREATE TABLE nothing ()"))
    assert str(fault).endswith(": it is read-only, as replicas are. Set DATABASE_URL to the primary.")


def test_what_the_program_asked_wrongly_is_none() -> None:
    assert fault_of(ended_with("SELECT 1 / 0")) is None
