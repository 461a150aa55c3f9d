"""/metrics of a running server, read by Prometheus' own parser."""

from collections.abc import Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.proxied import Proxied, until
from tests.services import Serving

Figures = dict[tuple[str, tuple[str, ...]], float]


@pytest.fixture(scope="module", params=["1", "2"], ids=["one server", "two on a port"])
def proxied(serving: Serving, request: pytest.FixtureRequest) -> Iterator[Proxied]:
    with serving(WORKERS=request.param) as server, Proxied(server) as proxied:
        yield proxied


def figures(proxied: Proxied) -> Figures:
    """Each sample by its name and labels' values, in the order of their names."""
    with httpx.Client(base_url=proxied.server.base_url, timeout=60) as scraper:
        answer = scraper.get("/metrics")
    assert answer.status_code == httpx.codes.OK
    families = text_string_to_metric_families(answer.text)
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
        proxied.http = httpx.Client(base_url=proxied.server.base_url, timeout=120)
        assert proxied.ask("content?speed=inf&chunks=20", f"counted {n}").status == 200
    denied = proxied.ask("dangerous?speed=inf", "denied")
    assert b"run_shell" not in denied.body
    streams = [proxied.recorded(name) for name in ("counted 0", "counted 1", "counted 2", "counted 3", "denied")]
    found = until(lambda: (now := figures(proxied)).get(("streamviz_requests_total", ("openai_chat",))) == 5 and now)
    assert found["streamviz_streams_total", ("openai_chat", "completed", "simulator")] == 5
    assert found["streamviz_streams_running", ("openai_chat",)] == 0
    assert found["streamviz_verdicts_total", ("deny", "enforce", "shell-guard")] == 1
    assert found["streamviz_hold_seconds_count", ()] == 1
    assert found["streamviz_first_chunk_seconds_count", ("upstream",)] == 5
    gaps = sum(each.chunk_count - 1 for each in streams)
    assert found["streamviz_chunk_gap_seconds_count", ("upstream",)] == gaps
    assert found["streamviz_journal_bytes", ()] >= 0
    [(tokens,)] = proxied.query("SELECT sum(output_tokens) FROM records_stream")
    assert found["streamviz_tokens_total", ("output", "simulator")] == tokens


@pytest.mark.parametrize("header", [{"x-forwarded-for": "203.0.113.7"}, {"host": "another.example:80"}])
def test_strangers_may_not_read_it(proxied: Proxied, header: dict[str, str]) -> None:
    answer = proxied.http.get("/metrics", headers=header)
    assert (answer.status_code, "streamviz_" in answer.text) == (403, False)
