"""A policy that is switched acts in every worker on the next request, and on no stream under way."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Program, Streamviz, free_port

MakeServer = Callable[..., Streamviz]
BODY = {"model": "sim/dangerous?speed=inf", "messages": MESSAGES, "stream": True}
SLOW = {**BODY, "model": "sim/dangerous?pace=60"}


def test_a_mode_switched_in_the_admin_acts_in_both_workers(make_server: MakeServer, redis_url: str) -> None:
    server = make_server(REDIS_URL=redis_url).start()
    port = free_port()
    other = Program([sys.executable, "manage.py", "serve"], server.environment | {"PORT": str(port)})
    key = {"authorization": f"Bearer {server.api_key}"}
    try:
        other.wait_for("Listening on")
        with (
            Proxied(server) as proxied,
            ThreadPoolExecutor(2) as threads,
            httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=key, timeout=60) as second,
        ):
            proxied.sign_in()

            def call(client: httpx.Client, body: object) -> bytes:
                return client.post("/v1/chat/completions", json=body, headers=key).content

            before = [threads.submit(call, client, SLOW) for client in (proxied.http, second)]
            until(lambda: len(proxied.open_upstream()) == 2)
            proxied.switch("shell-guard", "enforce")
            until(lambda: "on all 2 workers" in proxied.http.get("/policies/shell-guard/spread/").text)
            for client in (proxied.http, second):
                assert b"run_shell" not in call(client, BODY)
            assert [b"run_shell" in each.result() for each in before] == [True, True]
    finally:
        other.process.terminate()
        other.wait()
