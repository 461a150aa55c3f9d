"""Lists read from a real streaming replica: lag, one's own changes, and a replica that goes down."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from streamviz.dashboard.replica_reads import COOKIE
from streamviz.ops.embedded_postgres import SOCKET_NAME, EmbeddedPostgres, wheel_programs
from tests.e2e.proxied import Proxied, until
from tests.services import Streamviz, copied_postgres, url_of

pytestmark = pytest.mark.slow

TOKEN = "of the tests alone"


class Pair(NamedTuple):
    """A streamviz on a primary, and the replica that it reads lists from."""

    proxied: Proxied
    replica: EmbeddedPostgres

    def lists(self, session: str) -> bool:
        """Whether the list shows the session to someone who has changed nothing recently."""
        self.proxied.http.cookies.delete(COOKIE)
        return session in self.proxied.http.get("/sessions/").text

    def state(self) -> dict[str, object]:
        """What a server reports about the replica."""
        found = self.proxied.http.get("/healthz?verbose", headers={"authorization": f"Bearer {TOKEN}"})
        said: dict[str, object] = found.json()["replica"]
        return said


def copy_of(primary: EmbeddedPostgres) -> EmbeddedPostgres:
    """A replica of this primary, not started yet."""
    data = primary.data.with_name("replica")
    data.mkdir(mode=0o700)
    owner = primary.data.stat()
    os.chown(data, owner.st_uid, owner.st_gid)
    command = [wheel_programs() / "pg_basebackup", "-R", "-c", "fast", "-D", data, "-d", url_of(primary)]
    subprocess.run(command, check=True, user=owner.st_uid, group=owner.st_gid, cwd="/")
    (data / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)  # the primary's, whose socket may be in its data folder
    return EmbeddedPostgres(data, options={"fsync": "off"})


@pytest.fixture
def pair(migrated_data: Path, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        primary = stack.enter_context(copied_postgres(migrated_data, fsync="off"))
        replica = copy_of(primary)
        stack.callback(replica.stop)
        replica.start()
        urls = {"DATABASE_URL": url_of(primary), "DATABASE_REPLICA_URL": url_of(replica)}
        server = Streamviz(tmp_path, {**urls, "METRICS_TOKEN": TOKEN, "DATABASE_POOL": "4"})
        stack.callback(server.stop)
        proxied = stack.enter_context(Proxied(server.start()))
        proxied.sign_in()
        yield Pair(proxied, replica)


def test_lists_are_read_from_the_replica_while_it_keeps_up(pair: Pair) -> None:
    proxied = pair.proxied
    assert proxied.ask("content?speed=inf", "the-first").status == 200
    until(lambda: pair.lists("the-first"))
    until(lambda: pair.state()["state"] == "ok")

    with psycopg.connect(url_of(pair.replica), autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        until(lambda: connection.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() == ("paused",))
    assert proxied.ask("content?speed=inf", "the-second").status == 200
    second = proxied.recorded("the-second")
    assert pair.lists("the-first")
    assert not pair.lists("the-second")
    assert proxied.http.get(f"/streams/{second.id}/").status_code == 200

    form = {"csrfmiddlewaretoken": proxied.http.cookies["csrftoken"]}
    assert proxied.http.post(f"/streams/{second.id}/star/", data=form).status_code < 400
    assert "the-second" in proxied.http.get("/sessions/").text  # one's own change is visible immediately
    assert pair.state()["state"] == "ok"

    pair.replica.stop()
    assert pair.lists("the-second")
    assert pair.state()["state"] != "ok"
    assert "not from the replica" in proxied.http.get("/system/").text
