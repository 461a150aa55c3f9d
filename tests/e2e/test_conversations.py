"""A conversation across two servers, one of which is restarted: one session, and both show it as one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.machine import Machine
from tests.e2e.proxied import until
from tests.simulator.process import running_simulator

pytestmark = pytest.mark.slow

ASKED = "Tell me why the build fails on main since this morning, and what is to be done."
SESSIONS = "SELECT session_id, parent, relation, id FROM records_stream ORDER BY requested_at"


@pytest.fixture
def machines(database_url: str, tmp_path: Path) -> Iterator[list[Machine]]:
    """Two servers with one database, each with a writer."""
    with running_simulator() as simulator:
        both = [
            Machine(tmp_path / name, database_url, simulator, SECRET_KEY="of both servers " * 5)
            for name in ("here", "there")
        ]
        both[0].prepare()
        both[0].add_administrator()
        for machine in both:
            machine.start_server()
            machine.start_writer()
        yield both
        for machine in both:
            machine.stop()


def _ask(machine: Machine, key: str, said: list[dict[str, Any]]) -> str:
    """Make one turn, on a new connection."""
    body = {"model": f"sim/content?seed={len(said)}&speed=inf", "messages": said}
    headers = {"authorization": f"Bearer {key}"}
    answer = httpx.post(f"{machine.base_url}/v1/chat/completions", json=body, headers=headers, timeout=120)
    text: str = answer.json()["choices"][0]["message"]["content"]
    said += [{"role": "assistant", "content": text}, {"role": "user", "content": f"And then? ({len(said)})"}]
    return text


def test_turns_at_two_servers_and_after_a_restart_are_one_session(machines: list[Machine]) -> None:
    here, there = machines
    said: list[dict[str, Any]] = [{"role": "user", "content": ASKED}]
    stranger: list[dict[str, Any]] = [{"role": "user", "content": ASKED}, {"role": "user", "content": "Be short."}]
    _ask(here, here.key, said)
    _ask(there, here.key, said)
    _ask(there, here.key, said)
    _ask(there, here.key, stranger)
    here.kill_server()
    here.start_server()
    _ask(here, here.key, said)
    here.wait_until_stored(5)

    def linked() -> list[tuple[Any, ...]] | None:
        rows = here.query(SESSIONS)
        return rows if sum(bool(relation) for _, _, relation, _ in rows) == 3 else None

    rows = until(linked)
    first, second, third, other, last = rows
    assert len({row[0] for row in (first, second, third, last)}) == 1
    assert other[0] != first[0]
    assert [row[1] for row in rows] == [None, first[3], second[3], None, third[3]]
    assert [row[2] for row in rows] == ["", "turn", "turn", "", "turn"]
    assert here.query("SELECT count(*) FROM records_session") == [(2,)]
    for machine in machines:
        with machine.browser() as browser:
            page = browser.get(f"/sessions/{first[0]}/").text
            assert all(f"/streams/{row[3]}/" in page for row in (first, second, third, last))
            # From memory, where a stream is shown for some time after its end.
            until(lambda: f"/sessions/{first[0]}/" in browser.get(f"/streams/{second[3]}/").text)
