"""/metrics of two servers on one port, read by Prometheus' own parser, its linter, and Prometheus itself."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import missing
from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.e2e.test_workers import servers
from tests.services import Program, Serving, free_port

pytestmark = pytest.mark.slow

RUNNING = "streamviz_streams_running"
Figures = dict[tuple[str, tuple[str, ...]], float]


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    with serving(WORKERS="2", LOG_FORMAT="json", ACCESS_LOG="1") as server, Proxied(server) as proxied:
        yield proxied


def exposition(proxied: Proxied) -> str:
    """The response of either server."""
    with httpx.Client(base_url=proxied.server.base_url, timeout=60) as scraper:
        answer = scraper.get("/metrics")
    assert answer.status_code == httpx.codes.OK
    return answer.text


def figures(proxied: Proxied) -> Figures:
    """Each sample by its name and its labels' values, sorted by label name."""
    families = text_string_to_metric_families(exposition(proxied))
    return {
        (each.name, tuple(value for _, value in sorted(each.labels.items()))): each.value
        for family in families
        for each in family.samples
    }


def test_what_streams_came_to_is_counted(proxied: Proxied) -> None:
    proxied.sign_in()
    proxied.switch("shell-guard", "enforce")
    for n in range(4):
        proxied.http.close()
        proxied.http = httpx.Client(base_url=proxied.server.base_url, timeout=120, cookies=proxied.http.cookies)
        assert proxied.ask("content?speed=inf&chunks=20", f"counted {n}").status == 200
    denied = proxied.ask("dangerous?speed=inf", "denied")
    assert b"run_shell" not in denied.body
    streams = [proxied.recorded(name) for name in ("counted 0", "counted 1", "counted 2", "counted 3", "denied")]
    # A server publishes its counts to the others twice a second.
    completed = ("streamviz_streams_total", ("openai_chat", "other", "completed", "simulator"))
    until(lambda: figures(proxied).get(completed) == 5)
    found = figures(proxied)
    assert found["streamviz_requests_total", ("openai_chat",)] == 5
    until(
        lambda: not sum(value for (name, _), value in figures(proxied).items() if name == "streamviz_streams_running")
    )
    assert found["streamviz_verdicts_total", ("deny", "enforce", "shell-guard")] == 1
    assert found["streamviz_hold_seconds_count", ()] == 1
    assert found["streamviz_first_chunk_seconds_count", ("upstream",)] == 5
    assert found["streamviz_chunks_total", ("upstream",)] == sum(each.chunk_count for each in streams)
    gaps = sum(each.chunk_count - 1 for each in streams)
    assert found["streamviz_chunk_gap_seconds_count", ("upstream",)] == gaps
    assert found["streamviz_journal_bytes", ()] >= 0
    assert (found["streamviz_processes", ("server",)], found["streamviz_processes", ("writer",)]) == (2, 1)
    assert found["streamviz_writer_entries_total", ()] > 5
    assert proxied.post({}, authorization="Bearer nobody").status == 401
    until(lambda: figures(proxied)["streamviz_requests_refused_total", ("401",)] == 1)
    [(tokens,)] = proxied.query("SELECT sum(output_tokens) FROM records_stream")
    assert found["streamviz_tokens_total", ("output", "other", "simulator")] == tokens


def test_the_log_has_each_request_with_its_stream_as_json(proxied: Proxied) -> None:
    body = {"model": "sim/content?speed=inf&chunks=5", "messages": MESSAGES, "stream": True}
    answer = proxied.post(body, "/v1/chat/completions?key=a-secret", x_session_id="logged", x_request_id="theirs-1")
    stream = answer.headers["x-streamviz-stream"]

    def line() -> str:
        lines = proxied.server.output().splitlines()
        return next((line for line in lines if line.startswith("{") and stream in line), "")

    told = json.loads(until(line))
    assert told["logger"] == "streamviz.access"
    assert (told["stream"], told["path"], told["method"]) == (stream, "/v1/chat/completions", "POST")
    assert (told["status"], told["is_whole"], told["client"]) == (200, True, "127.0.0.1")
    assert told["bytes"] >= len(answer.body)
    assert "a-secret" not in proxied.server.output()
    refused = proxied.post({}, authorization="Bearer nobody").headers["x-request-id"]
    assert until(lambda: f'"request_id": "{refused}"' in proxied.server.output())


@pytest.mark.parametrize("body", [b"content-length: 9\r\n\r\nhalf", b"transfer-encoding: chunked\r\n\r\nno size\r\n"])
@pytest.mark.parametrize("key", ["nobody's", ""])
def test_a_request_that_never_was_whole_fails_nothing(proxied: Proxied, body: bytes, key: str) -> None:
    key = key or proxied.server.api_key
    with socket.create_connection(("127.0.0.1", proxied.server.port), timeout=60) as client:
        client.sendall(f"POST /v1/messages HTTP/1.1\r\nauthorization: Bearer {key}\r\n".encode() + body)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass
    assert proxied.http.get("/healthz").status_code == 200
    assert "Unhandled Error" not in proxied.server.output()


@pytest.mark.parametrize("header", [{"x-forwarded-for": "203.0.113.7"}, {"host": "another.example:80"}])
def test_strangers_may_not_read_it(proxied: Proxied, header: dict[str, str]) -> None:
    answer = proxied.http.get("/metrics", headers=header)
    assert (answer.status_code, "streamviz_" in answer.text) == (403, False)


def test_healthz_tells_of_each_process(proxied: Proxied) -> None:
    path = "/healthz?verbose"
    assert proxied.http.get("/healthz").json() == {"process": "ok"}
    stranger = proxied.http.get(path, headers={"x-forwarded-for": "203.0.113.7"})
    assert (stranger.status_code, list(stranger.json())) == (403, ["error"])

    def told() -> dict[str, Any]:
        with httpx.Client(base_url=proxied.server.base_url, timeout=60) as prober:
            answer = prober.get(path)
        found: dict[str, Any] = answer.json()
        [machine] = found["machines"]
        has_all = {each["pid"] for each in machine["members"]} == set(servers(proxied)) and machine["journal"]
        return found if has_all else {}

    found = until(told)
    [machine] = found["machines"]
    assert (found["state"], found["database"], machine["troubles"]) == ("ok", "ok", [])
    assert [(each["process"], each["is_ready"], each["servers"]) for each in machine["members"]] == [
        ("server", True, 2)
    ] * 2
    writer = machine["journal"]["writer"]
    assert found["versions"] == [writer["version"]]
    pids = {str(pid) for pid in (*servers(proxied), writer["pid"])}
    # The other server may answer this request, and learns of this one a moment later.
    until(lambda: pids <= set(re.findall(r"\d+", proxied.http.get("/system/").text)))


def test_a_server_that_stands_still_is_seen_from_outside(proxied: Proxied) -> None:
    def asked(path: str) -> httpx.Response:
        with httpx.Client(base_url=proxied.server.base_url, timeout=60) as prober:  # connects to a server that responds
            return prober.get(path)

    def told() -> dict[str, Any]:
        found: dict[str, Any] = asked("/healthz?verbose").json()
        return found

    stopped = servers(proxied)[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        found = until(lambda: (now := told())["state"] != "ok" and now)
        assert (found["state"], found["servers"]) == ("degraded: servers", "1 of 2 servers respond")
        [silent] = [each for each in found["machines"][0]["members"] if each["silent"]]
        assert (silent["pid"], silent["is_ready"]) == (stopped, False)
        figures = asked("/metrics").text
        assert "\nstreamviz_servers_responding 1.0\n" in figures
        assert "\nstreamviz_servers_wanted 2.0\n" in figures
    finally:
        os.kill(stopped, signal.SIGCONT)
    until(lambda: told()["state"] == "ok")


def test_what_a_killed_server_has_counted_stays(proxied: Proxied) -> None:
    proxied.ask("content?speed=inf&chunks=20", "before")
    proxied.recorded("before")
    before = until(lambda: (now := figures(proxied)).get(("streamviz_processes", ("server",))) == 2 and now)
    folder = Path(proxied.server.environment["VAR_DIR"]) / "metrics"
    files = len(list(folder.iterdir()))
    killed = servers(proxied)[0]
    os.kill(killed, signal.SIGKILL)
    until(lambda: len(now := servers(proxied)) == 2 and killed not in now)
    after = until(lambda: (now := figures(proxied)).get(("streamviz_processes", ("server",))) == 2 and now)
    went_back = {key: after.get(key) for key, value in before.items() if _grows(key[0]) and after.get(key, 0) < value}
    assert went_back == {}
    assert len(list(folder.iterdir())) <= files + len(("counter_gone.db", "histogram_gone.db"))


def _grows(name: str) -> bool:
    return name.endswith(("_total", "_bucket", "_count", "_sum"))


def test_prometheus_has_nothing_to_object_to_and_reads_it(proxied: Proxied, tmp_path: Path) -> None:
    programs = [shutil.which(name) for name in ("promtool", "prometheus")]
    if None in programs:
        missing("Prometheus")
    linter, prometheus = (program or "" for program in programs)
    told = exposition(proxied)
    checked = subprocess.run([linter, "check", "metrics"], input=told, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")

    port, target = free_port(), proxied.server.base_url.removeprefix("http://")
    jobs = [{"job_name": "streamviz", "scrape_interval": "1s", "static_configs": [{"targets": [target]}]}]
    (tmp_path / "prometheus.yml").write_text(json.dumps({"scrape_configs": jobs}))  # JSON is valid YAML
    options = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
    program = Program([prometheus, *options, f"--web.listen-address=127.0.0.1:{port}"], os.environ)
    try:
        program.wait_for("Server is ready to receive web requests")
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1/") as client:

            def read() -> list[dict[str, list[str]]]:
                found = client.get("query", params={"query": "sum(streamviz_requests_total)"}).json()
                result: list[dict[str, list[str]]] = found["data"]["result"]
                return result

            [series] = until(read)
            assert float(series["value"][1]) == figures(proxied)["streamviz_requests_total", ("openai_chat",)]
    finally:
        program.process.terminate()
        program.wait()
