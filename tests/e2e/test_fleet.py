"""Several servers with Redis and one Postgres: what each shows of the others, and what it says while Redis is down."""

import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest

from tests.conftest import missing
from tests.e2e.load import Load
from tests.e2e.machine import Machine
from tests.e2e.proxied import until
from tests.services import Redis
from tests.simulator.process import running_simulator

pytestmark = pytest.mark.slow

AWAY = "Other servers cannot be reached"


@pytest.fixture
def redis() -> Iterator[Redis]:
    """A Redis for this test alone."""
    program = shutil.which("redis-server")
    if not program:
        missing("Redis")
    with Redis(program or "") as own:
        yield own


@pytest.fixture
def fleet(redis: Redis, database_url: str, tmp_path: Path) -> Iterator[list[Machine]]:
    """Two servers, not started yet, and no writer."""
    with running_simulator() as simulator:
        settings = {"REDIS_URL": redis.url, "SECRET_KEY": "of the fleet " * 5}
        machines = [Machine(tmp_path / name, database_url, simulator, **settings) for name in ("here", "there")]
        machines[0].prepare()
        machines[0].add_administrator()
        yield machines
        for machine in machines:
            machine.stop()


def running_at(http: httpx.Client) -> str:
    """The path of the only stream on this server's Live page."""
    row = re.search(r'id="r-([0-9a-f]{32})"', http.get("/").text)
    return f"/streams/{uuid.UUID(row[1])}/" if row else ""


def answer(browser: httpx.Client, path: str, status: int) -> httpx.Response:
    """A page, once it has this status: a busy server may take longer to answer another than that one waits."""
    found: httpx.Response = until(lambda: (page := browser.get(path)).status_code == status and page)
    return found


def test_a_running_streams_pages_are_at_each_server_with_no_writer_too(fleet: list[Machine]) -> None:
    here, there = fleet
    for machine in fleet:
        machine.start_server()
    with there.browser() as other, here.browser() as browser:
        call = Load(there.base_url, here.key, 1, model="content?seed=7&chunks=900&pace=20").start()
        path = until(partial(running_at, other))
        shown = answer(browser, path, 200)
        assert f'ws-connect="/ws{path}"' in shown.text
        assert call.tapes[0].session in shown.text
        assert "content?seed=7" in answer(browser, f"{path}request/", 200).text
        answer(browser, f"{path}chunks/", 200)
        answer(browser, "/streams/019a0000-0000-7000-8000-000000000000/", 404)
        assert call.finish()[0].is_whole
        ended = answer(browser, path, 200)
        assert ("completed" in ended.text, "ws-connect" in ended.text) == (True, False)
    assert here.query("SELECT count(*) FROM records_stream") == [(0,)]


def says(machine: Machine, what: str) -> bool:
    """Whether the server reports this about Redis; it must stay ready for new requests in any case."""
    answer = httpx.get(f"{machine.base_url}/readyz", timeout=120)
    assert (answer.status_code, answer.json()["server"]) == (200, "ok")
    return bool(answer.json()["channel_layer"] == what)


def hang(redis: Redis) -> Callable[[], None]:
    process = psutil.Process(redis.pid)
    process.suspend()
    return process.resume


def die(redis: Redis) -> Callable[[], None]:
    redis.kill()
    return redis.start


@pytest.mark.parametrize(("fault", "what"), [(hang, "no answer"), (die, "cannot be reached")])
def test_a_server_goes_on_without_redis_says_so_and_joins_again(
    fleet: list[Machine], redis: Redis, fault: Callable[[Redis], Callable[[], None]], what: str
) -> None:
    here = fleet[0]
    here.start_server()
    assert here.server
    with here.browser() as browser:
        assert AWAY not in browser.get("/system/").text
        mend = fault(redis)
        here.server.wait_for("the other workers cannot be reached through Redis")
        assert says(here, what)
        assert AWAY in browser.get("/system/").text
        assert "others unreachable" in browser.get("/").text
        unknown = browser.get("/streams/019a0000-0000-7000-8000-000000000000/")
        assert (unknown.status_code, AWAY in unknown.text) == (503, True)
        assert Load(here.base_url, here.key, 1, model="content?seed=1&speed=inf&chunks=3").once()[0].is_whole
        mend()
        here.server.wait_for("the other workers can be reached again")
        until(lambda: says(here, "ok"))
        assert AWAY not in browser.get("/system/").text
    assert here.server.output().count("cannot be reached") == 1
    assert "Traceback" not in here.server.output()
