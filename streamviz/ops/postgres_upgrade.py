"""Move the embedded Postgres' data from an older major version into this one's, by dump and restore.

The old folder is kept under another name, because only its owner knows when it is no longer needed.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from streamviz.faults import Fault
from streamviz.ops.embedded_postgres import (
    DATABASE,
    MAJOR_VERSION,
    USER,
    EmbeddedPostgres,
    finish_upgrade,
    kept,
    made_by,
    socket_dir,
    upgraded,
    upgrading,
    wheel_programs,
)


def upgrade(data: Path, old_programs: Path, say: Callable[[str], None]) -> Path:
    """Take over the data folder with the programs (`postgres` and the like) of the version that made it. Returns where
    the old folder is afterwards. Raises Fault, with the folder as it was, if that cannot be done."""
    finish_upgrade(data)
    version = made_by(data)
    if version == MAJOR_VERSION:
        raise Fault(f"{data} is already Postgres {version}: there is nothing to upgrade.")
    _require_version(old_programs, version)
    old_folder, fresh, whole = kept(data, version), upgrading(data), upgraded(data)
    if old_folder.exists():
        raise Fault(f"{old_folder} already exists, from an earlier upgrade. Move it away first.")
    for left in (fresh, whole):
        shutil.rmtree(left, ignore_errors=True)
    old, new = EmbeddedPostgres(data, say, programs=old_programs), EmbeddedPostgres(fresh, say)
    try:
        say(f"Starting Postgres {version} on {data}")
        old.start()
        new.start()
        say(f"Moving its data into Postgres {MAJOR_VERSION}; this takes as long as reading and writing all of it")
        _copy(data, fresh)
    finally:
        new.stop()
        old.stop()
    fresh.rename(whole)
    data.rename(old_folder)
    whole.rename(data)  # if this is killed before that, the next start does it
    return old_folder


def _require_version(programs: Path, version: str) -> None:
    try:
        said = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True).stdout
    except OSError as error:
        raise Fault(f"{programs / 'postgres'} cannot be run: {error.strerror}.") from None
    if f"(PostgreSQL) {version}." not in said:
        raise Fault(f"{programs} has {said.strip() or 'no Postgres'}, and the data is from Postgres {version}.")


def _copy(old: Path, new: Path) -> None:
    """Copy with this version's pg_dump, which reads older servers. Raises Fault if anything goes wrong."""
    programs = wheel_programs()
    names = ["--username", USER, "--no-password", "--dbname", DATABASE]
    dump: list[str | Path] = [
        programs / "pg_dump",
        *names,
        "--host",
        socket_dir(old),
        "--format",
        "custom",
        "--compress",
        "none",
        # The old server may have compressed with lz4, which this one lacks.
        "--no-toast-compression",
    ]
    restore: list[str | Path] = [
        programs / "pg_restore",
        *names,
        "--host",
        socket_dir(new),
        "--exit-on-error",
        "--no-owner",
    ]
    with subprocess.Popen(dump, stdout=subprocess.PIPE) as dumping:
        restored = subprocess.run(restore, stdin=dumping.stdout)
    if dumping.returncode or restored.returncode:
        raise Fault("The data could not be moved: what pg_dump or pg_restore said is above. Nothing was changed.")
