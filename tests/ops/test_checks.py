import os
import resource
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg.conninfo import make_conninfo
from pytest_django import Settings

from streamviz.faults import Fault, Refused
from streamviz.ops import checks, database_checks, password_checks
from streamviz.ops.management.commands import migrate
from streamviz.ops.system_account import needed_account
from tests.conftest import missing
from tests.e2e.proxied import until
from tests.services import Program, free_port


def test_a_free_port_is_fine() -> None:
    checks.require_free_port("127.0.0.1", free_port(), "PORT")


def test_a_port_in_use_is_a_fault() -> None:
    # The advice works for `make run`, for the package's command and for a container.
    said = r"is in use by another program\. Set PORT to another one, such as PORT=[0-9]+\.$"
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(Fault, match=said):
        checks.require_free_port("127.0.0.1", other.getsockname()[1], "PORT")


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("no-such-host.invalid", "cannot be looked up"),
        ("203.0.113.9", "is not an address of this machine. Set HOST to"),
    ],
)
def test_an_address_that_this_machine_does_not_have_is_a_fault(host: str, why: str) -> None:
    with pytest.raises(Fault, match=f"^HOST={host} {why}"):
        checks.require_free_port(host, free_port(), "PORT")


def test_a_folder_that_cannot_be_used_is_a_fault(tmp_path: Path) -> None:
    checks.require_folder(tmp_path / "made" / "whole")
    assert not list((tmp_path / "made" / "whole").iterdir())
    (tmp_path / "file").touch()
    for folder, why in ((tmp_path / "file", "File exists"), (Path("/proc"), "cannot be used")):
        with pytest.raises(Fault, match=why):
            checks.require_folder(folder)


def test_a_journal_that_cannot_be_written_to_keeps_streamviz_from_starting(tmp_path: Path) -> None:
    """As where it is on a disk of its own, which is mounted read-only."""
    (tmp_path / "journal").symlink_to("/proc")
    with pytest.raises(Fault, match=f"The journal in VAR_DIR={tmp_path} cannot be used: "):
        checks.require_folder(tmp_path)


def test_a_full_disk_keeps_nothing_from_being_started(tmp_path: Path) -> None:
    """It is the writer that frees space."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with checks.only_one_running(tmp_path):
        assert (tmp_path / "up.lock").read_text() == f"{os.getpid()}\n"
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with checks.only_one_running(tmp_path), pytest.raises(Fault, match="already running"):
            checks.only_one_running(tmp_path).__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_folder_that_was_removed_is_held_no_longer(tmp_path: Path, comes_back: bool) -> None:
    with checks.only_one_running(tmp_path) as require_held:
        require_held()
        (tmp_path / "up.lock").unlink()
        again = checks.only_one_running(tmp_path) if comes_back else nullcontext()
        with again, pytest.raises(Fault, match=r"up\.lock was removed while streamviz ran, .* Start it again\.$"):
            require_held()


@pytest.mark.django_db
@pytest.mark.parametrize(("password", "is_fine"), [(None, False), ("long and random", True)])
def test_a_public_server_needs_an_administrators_password(
    settings: Settings, password: str | None, is_fine: bool
) -> None:
    settings.PUBLIC, settings.HOST = True, "0.0.0.0"
    User.objects.create_user("bob", password="of no use here")
    User.objects.create_superuser("alice", password=password)
    if is_fine:
        password_checks.require_password_if_public()
    else:
        with pytest.raises(Refused, match="no administrator has a password"):
            password_checks.require_password_if_public()


@pytest.mark.django_db
@pytest.mark.parametrize("is_embedded", [True, False])
def test_a_command_that_needs_the_database_is_named_only_where_that_runs(
    settings: Settings, *, is_embedded: bool
) -> None:
    settings.PUBLIC, settings.EMBEDDED_POSTGRES = True, is_embedded
    with pytest.raises(Refused) as refusal:
        password_checks.require_password_if_public()
    assert ("createsuperuser" in str(refusal.value)) is not is_embedded
    assert "Account page" in str(refusal.value)


@pytest.mark.parametrize("password", ["", "postgres", "c7ZrTq0pXw19"])
@pytest.mark.parametrize("is_public", [True, False])
def test_a_public_servers_database_has_no_short_password(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, password: str, is_public: bool
) -> None:
    settings.PUBLIC = is_public
    monkeypatch.setitem(connection.settings_dict, "PASSWORD", password)
    with pytest.raises(Refused, match="DATABASE_URL") if is_public and password == "postgres" else nullcontext():
        password_checks.require_database_password_if_public()


@pytest.mark.django_db(transaction=True)
def test_a_replica_in_place_of_the_primary_is_a_fault() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        with pytest.raises(Fault, match=r"it is read-only, as replicas are\. Set DATABASE_URL to the primary\."):
            database_checks.require_database()
    finally:
        connection.close()


@pytest.mark.django_db
def test_postgres_itself_gives_each_connection_a_session_of_its_own() -> None:
    database_checks.require_own_sessions()


@pytest.mark.django_db
@pytest.mark.parametrize(("pool_mode", "is_fine"), [("session", True), ("transaction", False), ("statement", False)])
def test_pgbouncer_must_pool_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool_mode: str, is_fine: bool
) -> None:
    monkeypatch.setattr(database_checks, "NOTIFY_SECONDS", 30.0 if is_fine else 1.0)
    with pgbouncer(tmp_path, pool_mode) as port:
        monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        monkeypatch.setitem(connection.settings_dict, "PORT", str(port))
        if is_fine:
            database_checks.require_own_sessions()
        else:
            with pytest.raises(Fault, match=f"127.0.0.1:{port}/.* is behind a pooler in transaction mode"):
                database_checks.require_own_sessions()


@contextmanager
def pgbouncer(folder: Path, pool_mode: str) -> Iterator[int]:
    """Run a PgBouncer in front of the test's database, with two backends that it alternates; gives its port."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if not program:
        missing("PgBouncer")
    port, account = free_port(), needed_account(print)
    lines = [
        *("[databases]", f"* = {here()}", "[pgbouncer]"),
        *("listen_addr = 127.0.0.1", f"listen_port = {port}", "unix_socket_dir =", "auth_type = any"),
        *(f"pool_mode = {pool_mode}", "server_round_robin = 1", "min_pool_size = 2"),
        *([f"user = {account.pw_name}"] if account else []),
    ]
    (folder / "pgbouncer.ini").write_text("\n".join(lines))
    running = Program([program or "", str(folder / "pgbouncer.ini")], os.environ)
    running.wait_for("process up")
    yield port
    running.process.kill()
    running.wait()


@pytest.mark.django_db(transaction=True)
def test_a_second_migration_waits_for_the_first() -> None:
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(here(), autocommit=True) as first, ThreadPoolExecutor(1) as pool:
        first.execute("SELECT pg_advisory_lock(%s)", [migrate._LOCK])
        second = pool.submit(migrate_here)
        until(lambda: first.execute(waits).fetchone() == (1,))
        assert not second.done()
        first.execute("SELECT pg_advisory_unlock(%s)", [migrate._LOCK])
        second.result(60)


@pytest.mark.django_db(transaction=True)
def test_a_migration_waits_for_a_table_in_turns_that_others_get_between(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[bool] = []

    def change(*_: Any, **__: Any) -> None:
        """A migration that changes a table, which someone is reading at first."""
        tried.append(True)
        if len(tried) == 3:
            reader.rollback()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE records_stream IN ACCESS EXCLUSIVE MODE")

    monkeypatch.setattr(migrate.MigrateCommand, "handle", change)
    monkeypatch.setattr(migrate, "LOCK_MILLISECONDS", 20)
    monkeypatch.setattr(migrate, "PAUSE_SECONDS", 0)
    with psycopg.connect(here()) as reader:
        reader.execute("LOCK TABLE records_stream IN ACCESS SHARE MODE")
        call_command("migrate", verbosity=0)
    assert len(tried) == 3
    assert capsys.readouterr().err.count("A table is in use; trying again.") == 2
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() != ("20ms",)


@pytest.mark.django_db(transaction=True)
def test_a_migration_that_came_to_a_deadlock_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A writer locks a table's partitions in another order, and Postgres aborts the first to notice."""
    tried: list[bool] = []

    def change(*_: Any, **__: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL deadlock_timeout = 10")
            cursor.execute("LOCK TABLE records_stall IN ACCESS EXCLUSIVE MODE")
            tried.append(True)
            if len(tried) == 1:
                changes.set()
                until(waits)
            cursor.execute("LOCK TABLE records_lintnote IN ACCESS EXCLUSIVE MODE")

    def waits() -> bool:
        with psycopg.connect(here()) as third:
            return bool(
                third.execute(
                    "SELECT FROM pg_locks WHERE relation::regclass::text = 'records_stall' AND NOT granted"
                ).rowcount
            )

    def write() -> None:
        changes.wait()
        writer.execute("LOCK TABLE records_stall IN ACCESS SHARE MODE")
        writer.rollback()

    changes = Event()
    monkeypatch.setattr(migrate.MigrateCommand, "handle", change)
    monkeypatch.setattr(migrate, "PAUSE_SECONDS", 0)
    with psycopg.connect(here()) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("SET deadlock_timeout = 60000")
        writer.execute("LOCK TABLE records_lintnote IN ACCESS SHARE MODE")
        writing = pool.submit(write)
        call_command("migrate", verbosity=0)
        writing.result()
    assert len(tried) == 2
    assert capsys.readouterr().err.count("A table is in use; trying again.") == 1


@pytest.mark.django_db
def test_a_database_that_a_newer_version_has_migrated_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("migrate", verbosity=0)
    assert capsys.readouterr().err == ""
    recorder = MigrationRecorder(connection)
    recorder.record_applied("records", "0002_of_those_that_were_put_together")
    recorder.record_applied("records", "9998_later")
    recorder.record_applied("records", "9999_last")
    call_command("migrate", verbosity=0)
    assert capsys.readouterr().err == (
        "The database was migrated by a newer version, up to records.9999_last. Use that one: this one may fail on "
        "what it does not know.\n"
    )


def migrate_here() -> None:
    try:
        call_command("migrate", verbosity=0)
    finally:
        connections.close_all()


def here() -> str:
    """The test's database."""
    found = connection.get_connection_params()
    return make_conninfo(
        "", **{name: found[name] for name in ("dbname", "user", "password", "host", "port") if found.get(name)}
    )
