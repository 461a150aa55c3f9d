"""WORKERS=2: two servers on one port, without Redis, that look like one from outside."""

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Serving

pytestmark = pytest.mark.slow

STREAMS = 12
GUARDED = """
SELECT decision, count(DISTINCT stream.id) FROM records_verdict JOIN records_stream AS stream ON stream.id = stream_id
JOIN records_session AS session ON session.id = session_id WHERE name LIKE 'guarded %%' GROUP BY decision
"""
KILLED = """
SELECT count(*) FILTER (WHERE outcome = 'interrupted'), count(*) FILTER (WHERE outcome = 'completed')
FROM records_stream JOIN records_session AS session ON session.id = session_id WHERE name LIKE 'killed %%'
"""


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    with serving(WORKERS="2") as server, Proxied(server) as proxied:
        proxied.sign_in()
        until(lambda: len(servers(proxied)) == 2)
        yield proxied


def servers(proxied: Proxied) -> list[int]:
    """The server processes, which are children of the server that supervises them."""
    return [each.pid for keeper in serving_below(proxied.server.pid) for each in serving_below(keeper.pid)]


def serving_below(pid: int) -> list[psutil.Process]:
    return [each for each in psutil.Process(pid).children() if is_server(each)]


def is_server(process: psutil.Process) -> bool:
    try:
        return "serve" in process.cmdline()
    except psutil.Error:
        return False


def call(proxied: Proxied, model: str, session: str) -> bytes:
    """Make a call on a new connection, which either server may get; returns what arrived, even if cut off."""
    body = {"model": f"sim/{model}", "messages": MESSAGES, "stream": True}
    headers = {"authorization": f"Bearer {proxied.server.api_key}", "x-session-id": session}
    url = f"{proxied.server.base_url}/v1/chat/completions"
    came = b""
    with (
        suppress(httpx.RemoteProtocolError, httpx.ReadError),
        httpx.Client(timeout=120) as client,
        client.stream("POST", url, json=body, headers=headers) as response,
    ):
        for piece in response.iter_raw():
            came += piece
    return came


def shown_live(proxied: Proxied) -> int:
    """How many running streams the Live page of either server shows."""
    with httpx.Client(base_url=proxied.server.base_url, cookies=proxied.http.cookies, timeout=60) as browser:
        return len(set(re.findall(r'id="r-([0-9a-f]{32})"', browser.get("/").text)))


def test_each_page_shows_the_streams_of_both(proxied: Proxied) -> None:
    with ThreadPoolExecutor(STREAMS) as clients:
        calls = [clients.submit(call, proxied, "content?pace=40&chunks=300", f"both {n}") for n in range(STREAMS)]
        until(lambda: len(proxied.open_upstream()) == STREAMS)
        for _ in range(6):
            until(lambda: shown_live(proxied) == STREAMS)
        assert all(body.endswith(b"data: [DONE]\n\n") for body in (each.result() for each in calls))
    workers = proxied.query("SELECT count(*) FROM records_worker")
    assert workers == [(2,)]


def test_a_policy_that_is_switched_binds_both(proxied: Proxied) -> None:
    version = proxied.switch("shell-guard", "enforce")
    proxied.wait_for_version("shell-guard", version)
    until(lambda: "on all 2 workers" in proxied.http.get("/policies/shell-guard/spread/").text)
    answers = [call(proxied, "dangerous?speed=inf", f"guarded {n}") for n in range(8)]
    proxied.switch("shell-guard", "off")
    assert all(body.endswith(b"data: [DONE]\n\n") and b"run_shell" not in body for body in answers)
    until(lambda: proxied.query(GUARDED) == [("deny", 8)])


def test_what_is_to_be_said_of_a_denied_call_both_say(proxied: Proxied) -> None:
    proxied.wait_for_version("shell-guard", proxied.switch("shell-guard", "enforce"))
    until(lambda: "on all 2 workers" in proxied.http.get("/policies/shell-guard/spread/").text)
    denied = respond(proxied, "dangerous?speed=inf").json()["id"]

    def is_said(_: int) -> bool:
        # Slow enough for both servers to have some at the same time.
        response = respond(proxied, "content?pace=20&chunks=20", previous_response_id=denied)
        asked = proxied.asked_upstream(response.headers)
        return "function_call_output" in str(asked["input"])

    with ThreadPoolExecutor(STREAMS) as clients:
        until(lambda: all(clients.map(is_said, range(STREAMS))))
    proxied.switch("shell-guard", "off")


def respond(proxied: Proxied, model: str, **more: str) -> httpx.Response:
    """A response, on a new connection."""
    body = {"model": f"sim/{model}", "input": "Hi", **more}
    headers = {"authorization": f"Bearer {proxied.server.api_key}"}
    return httpx.post(f"{proxied.server.base_url}/v1/responses", json=body, headers=headers, timeout=120)


def responding(proxied: Proxied) -> set[int]:
    """The server processes that report themselves alive."""
    [machine] = proxied.http.get("/healthz?verbose").json()["machines"]
    return {each["pid"] for each in machine["members"] if each["process"] == "server" and not each["silent"]}


def clear_temporary_folder(pid: int) -> None:
    """Delete all files except sockets, as systemd-tmpfiles does some weeks after the start: it spares sockets in
    use."""
    hub = Path(psutil.Process(pid).environ()["STREAMVIZ_HUB"])
    for file in hub.parent.iterdir():
        if not file.is_socket():
            file.unlink()


def test_a_worker_that_is_killed_takes_its_own_streams_alone_and_comes_back(proxied: Proxied) -> None:
    with ThreadPoolExecutor(STREAMS) as clients:
        calls = [clients.submit(call, proxied, "content?pace=40&chunks=200", f"killed {n}") for n in range(STREAMS)]
        until(lambda: len(proxied.open_upstream()) == STREAMS)
        victim = servers(proxied)[0]
        clear_temporary_folder(victim)
        os.kill(victim, signal.SIGKILL)
        after = [call(proxied, "content?speed=inf&chunks=3", f"after {n}") for n in range(4)]
        whole = [body.endswith(b"data: [DONE]\n\n") for body in (each.result() for each in calls)]
    assert all(body.endswith(b"data: [DONE]\n\n") for body in after)
    assert any(whole)
    until(lambda: proxied.query(KILLED) == [(whole.count(False), whole.count(True))])
    proxied.server.wait_for("Restarted the server")
    until(lambda: len(serving := responding(proxied)) == 2 and victim not in serving)
    assert "0 damaged" in proxied.verify()
