"""Upgrading the embedded Postgres' data from an older version, here Debian's."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from streamviz.faults import Fault
from streamviz.ops import passage, system_account
from streamviz.ops.embedded_postgres import (
    DATABASE,
    USER,
    EmbeddedPostgres,
    finish_upgrade,
    kept,
    made_by,
    socket_dir,
    wheel_programs,
)
from streamviz.ops.postgres_upgrade import upgrade
from tests.conftest import missing

pytestmark = [pytest.mark.slow, pytest.mark.integration]


@pytest.fixture(scope="module")
def old_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("1[567]/bin/postgres"))
    if not found:
        missing("Debian's Postgres")
    return found[0].parent


@pytest.fixture
def old(old_programs: Path) -> Iterator[Path]:
    """The data folder of an older version, with a table in it; no server runs on it."""
    folder = Path(tempfile.mkdtemp(prefix="streamviz-test-"))
    data = folder / "postgres"
    account = system_account.needed_account(print)
    data.mkdir(mode=0o700)
    if account:
        passage.let_reach(data.parent, account, print)
        shutil.chown(data, account.pw_uid, account.pw_gid)
    initdb = [old_programs / "initdb", "-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C"]
    subprocess.run(initdb, check=True, capture_output=True, cwd="/", **system_account.run_as(account))
    server = EmbeddedPostgres(data, programs=old_programs)
    server.start()
    with connect(data) as connection:
        # As tables of the record are where Postgres supports it, which the embedded one does not.
        connection.execute("CREATE TABLE kept (word text COMPRESSION lz4)")
        connection.execute("INSERT INTO kept VALUES ('GRÜßE')")
    server.stop()
    yield data
    shutil.rmtree(folder)


def connect(data: Path) -> psycopg.Connection:
    return psycopg.connect(dbname=DATABASE, user=USER, host=str(socket_dir(data)), autocommit=True)


def killed_as_it_copies(words: str) -> None:
    """Stands in for the progress output, and interrupts."""
    if words.startswith("Moving"):
        raise KeyboardInterrupt


def test_the_data_of_an_older_version_is_taken_over_and_its_folder_is_kept(old: Path, old_programs: Path) -> None:
    version = made_by(old)
    with pytest.raises(Fault, match=f"upgrade_postgres --old-programs /usr/lib/postgresql/{version}/bin"):
        EmbeddedPostgres(old).start()

    old_folder = upgrade(old, old_programs, print)
    assert (old_folder, made_by(old_folder)) == (old.with_name(f"postgres.{version}"), version)
    server = EmbeddedPostgres(old)
    server.start()
    with connect(old) as connection:
        assert connection.execute("SELECT word FROM kept").fetchone() == ("GRÜßE",)
    server.stop()

    with pytest.raises(Fault, match="nothing to upgrade"):
        upgrade(old, old_programs, print)


def test_what_cannot_be_done_leaves_it_as_it_was(old: Path, old_programs: Path, tmp_path: Path) -> None:
    with pytest.raises(Fault, match="and the data is from Postgres"):
        upgrade(old, wheel_programs(), print)
    with pytest.raises(Fault, match="cannot be run: No such file"):
        upgrade(old, tmp_path, print)
    earlier = kept(old, made_by(old))
    earlier.mkdir()
    with pytest.raises(Fault, match="from an earlier upgrade"):
        upgrade(old, old_programs, print)
    earlier.rmdir()
    assert [each.name for each in old.parent.iterdir() if each.is_dir()] == ["postgres"]
    # What a killed upgrade has copied is not used as data, whichever older folder is kept, and wherever its own is.
    kept(old, "14").mkdir()
    with pytest.raises(KeyboardInterrupt):
        upgrade(old, old_programs, killed_as_it_copies)
    elsewhere = old.rename(old.with_name("elsewhere"))
    finish_upgrade(old)
    assert not old.exists()
    elsewhere.rename(old)
    server = EmbeddedPostgres(old, programs=old_programs)
    server.start()
    with connect(old) as connection:
        assert connection.execute("SELECT word FROM kept").fetchone() == ("GRÜßE",)
    server.stop()
