"""After a restart the history shows the same streams, blocks, chunks and verdicts, on the same pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from streamviz.simulator.scenarios import SCENARIOS
from tests.e2e.proxied import Proxied
from tests.live.support import Element, parse
from tests.services import Serving

pytestmark = pytest.mark.slow

TABLES = {
    "records_session": "id",
    "records_stream": "id",
    "records_block": "stream_id, ordinal",
    "records_verdict": "stream_id, number",
    "records_chunk": "stream_id, seq",
    "records_frame": "stream_id, number",
}
# What a stream's page shows, except for its place in the navigation.
PARTS = ("stream", "facts", "stream-state", "stream-error", "chunk-count")


def model(scenario: str) -> str:
    """A scenario without delays."""
    return f"{scenario}?seed=3&speed=inf&seconds=0.01"


class Past:
    """One call of every scenario, judged in shadow, and everything that was seen of them before the restart."""

    def __init__(self, proxied: Proxied) -> None:
        self.proxied = proxied
        proxied.sign_in()
        proxied.switch("shell-guard", "shadow")
        answers = {name: proxied.ask(model(name), name) for name in SCENARIOS}
        self.sent = {name: proxied.sent_upstream(answer) for name, answer in answers.items()}
        self.streams = {name: proxied.recorded(name) for name in SCENARIOS}
        self.tables = self.read_tables()
        self.pages = {name: self.page(name) for name in SCENARIOS}
        self.chunk_pages = {name: self.chunk_page(name) for name in SCENARIOS}

    def read_tables(self) -> dict[str, list[tuple[Any, ...]]]:
        """The whole record."""
        return {table: self.proxied.query(f"SELECT * FROM {table} ORDER BY {order}") for table, order in TABLES.items()}

    def page(self, name: str) -> dict[str, object]:
        """What a stream's page shows."""
        root = self._get(name, "")
        found = {part: root.find(part) for part in PARTS}
        return {part: element.shape() if element else None for part, element in found.items()}

    def chunk_page(self, name: str) -> object:
        """The first page of its chunks, without the tokens of its forms."""
        main = self._get(name, "chunks/").find("main")
        assert main
        return without_tokens(main.shape())

    def _get(self, name: str, tab: str) -> Element:
        response = self.proxied.http.get(f"/streams/{self.streams[name].id}/{tab}")
        assert response.status_code == 200
        return parse(response.text)


def without_tokens(shape: list[Any]) -> list[Any]:
    """Drop the CSRF tokens, which differ each time a form is shown."""
    tag, attributes, *inside = shape
    kept = [each for each in inside if isinstance(each, str) or ("name", "csrfmiddlewaretoken") not in each[1]]
    return [tag, attributes, *(each if isinstance(each, str) else without_tokens(each) for each in kept)]


@pytest.fixture(scope="module")
def past(serving: Serving) -> Iterator[Past]:
    """The calls, on a streamviz that has been restarted since."""
    with serving() as server, Proxied(server) as proxied:
        found = Past(proxied)
        server.restart()
        yield found


def test_nothing_of_the_history_is_damaged_after_a_restart(past: Past) -> None:
    assert f"{len(SCENARIOS)} streams checked, 0 damaged" in past.proxied.verify()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_chunks_are_what_the_simulator_sent(past: Past, scenario: str) -> None:
    assert b"".join(past.proxied.chunks(past.streams[scenario])) == past.sent[scenario]


def test_nothing_of_the_record_has_changed(past: Past) -> None:
    now = past.read_tables()
    assert {table for table, rows in past.tables.items() if rows != now[table]} == set()
    assert len(now["records_stream"]) >= len(SCENARIOS)
    assert now["records_verdict"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_streams_page_is_the_same_as_before(past: Past, scenario: str) -> None:
    assert past.page(scenario) == past.pages[scenario]
    assert past.chunk_page(scenario) == past.chunk_pages[scenario]


def test_the_sessions_are_listed(past: Past) -> None:
    page = past.proxied.http.get("/sessions/").text
    classes = ((element, element.attributes.get("class") or "") for element in parse(page).walk())
    assert set(SCENARIOS) <= {element.text.strip() for element, names in classes if "session-id" in names}


def test_each_session_leads_to_its_stream(past: Past) -> None:
    for name, stream in past.streams.items():
        [(session_id,)] = past.proxied.query("SELECT session_id FROM records_stream WHERE id = %s", stream.id)
        assert f"/streams/{stream.id}/" in past.proxied.http.get(f"/sessions/{session_id}/").text, name
