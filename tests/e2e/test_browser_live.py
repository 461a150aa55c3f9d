"""The live pages under real conditions: lost sockets, restarts, late readers, several workers."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect

from tests.e2e.browsing import Call, Reader, grown
from tests.e2e.proxied import Proxied, until
from tests.services import Serving, Streamviz

pytestmark = pytest.mark.slow

# Longer than anything that a test does in the meantime.
LONG = "content?chunks=50000&pace=20"
SOCKET = "document.getElementById('socket')['htmx-internal-data'].webSocket.socket"


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    with serving() as server, Proxied(server) as found:
        yield found


@pytest.fixture(autouse=True)
def hang_up(proxied: Proxied) -> Iterator[None]:
    """End each test's calls before the next test."""
    yield
    proxied.hang_up()


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, proxied: Proxied) -> Any:
    """The administrator's session, as a browser stores it."""
    with Reader(chromium, proxied.server.base_url) as reader:
        reader.sign_in(proxied.server.sign_in_link)
        return reader.context.storage_state()


@pytest.fixture
def alice(chromium: Browser, proxied: Proxied, signed_in: Any) -> Iterator[Reader]:
    """The administrator's browser."""
    with Reader(chromium, proxied.server.base_url, storage_state=signed_in) as reader:
        yield reader


def another(chromium: Browser, alice: Reader, base_url: str) -> Reader:
    """Another browser with the same session."""
    return Reader(chromium, base_url, storage_state=alice.context.storage_state())


def stream_path(proxied: Proxied, session: str) -> str:
    """The page of a session's stream, once it is on record."""
    query = "SELECT s.id FROM records_stream s JOIN records_session n ON n.id = session_id WHERE name = %s"
    [(stream_id,)] = until(lambda: proxied.query(query, session))
    return f"/streams/{stream_id}/"


def text_of(reader: Reader, element: str = "#b0-text") -> str:
    return reader.page.locator(element).text_content() or ""


def screens_of(server: Streamviz) -> psutil.Process:
    """The process that has the browsers' websockets."""
    [process] = [each for each in psutil.Process(server.pid).children(recursive=True) if "screens" in each.cmdline()]
    return process


def kill_the_server(server: Streamviz) -> None:
    """Kill the server process; its supervisor starts another."""
    [process] = [each for each in psutil.Process(server.pid).children() if "serve" in each.cmdline()]
    process.kill()


def new_session() -> str:
    return f"session-{uuid.uuid4().hex[:8]}"


def test_a_page_opened_in_mid_stream_shows_the_same(chromium: Browser, proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    call = Call(proxied, "thinking?pace=40&chunks=400&seed=2", session)
    path = stream_path(proxied, session)
    alice.open(path)
    grown(alice.page, "#b1-text")
    with another(chromium, alice, proxied.server.base_url) as bob:
        bob.open(path)
        text = call.result().text
        for reader in (alice, bob):
            expect(reader.page.locator("#pill")).to_have_text("finished")
            assert text_of(reader, "#b1-text") == text
        for part in ("#block-cards", "#block-list", "#facts", "#stream-state"):
            assert alice.page.locator(part).inner_text() == bob.page.locator(part).inner_text()
        assert bob.complaints == []


def test_the_page_of_a_stream_that_ends_leads_to_all_that_a_finished_one_has(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    call = Call(proxied, "content?pace=20&chunks=100&seed=4", session)
    page, path = alice.page, stream_path(proxied, session)
    alice.open(f"{path}chunks/")
    expect(page.locator(".notice")).to_contain_text("This stream is running")
    alice.open(path)
    grown(page, "#b0-text")
    reload = page.get_by_role("link", name="Reload for tapes and export")
    expect(reload).to_be_hidden()
    call.result()
    expect(page.locator("#pill")).to_have_text("finished")

    def shows_all() -> bool:  # the record is a moment behind
        reload.click() if reload.is_visible() else page.reload()
        return page.get_by_role("button", name="Star").is_visible()

    until(shows_all)
    expect(page.get_by_role("link", name="Tapes")).to_be_visible()
    alice.open(f"{path}chunks/")
    expect(page.locator(".notice")).to_have_count(0)


def test_long_text_is_laid_out_in_parts_and_reads_as_one(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    call = Call(proxied, "content?chunks=2400&pace=3&seed=5", session)
    alice.open(stream_path(proxied, session))
    grown(alice.page, "#b0-text", by=200)
    select = "(shown) => getSelection().setBaseAndExtent(shown.firstChild, 3, shown.firstChild, 90)"
    alice.page.locator("#b0-text").evaluate(select)
    text = call.result().text
    expect(alice.page.locator("#pill")).to_have_text("finished")
    assert alice.page.evaluate("getSelection().toString()") == text[3:90]
    parts = alice.page.locator("#b0-text").evaluate("(shown) => [...shown.childNodes].map((part) => part.textContent)")
    assert "".join(parts) == text
    assert len(parts) > 2
    assert len(parts[-1]) <= 4096, "what is laid out again with each piece"
    assert all(part.endswith("\n") for part in parts[:-1])
    select_all = "(shown) => { getSelection().selectAllChildren(shown); return getSelection().toString(); }"
    assert alice.page.locator("#b0-text").evaluate(select_all) == text


def test_a_deleted_session_leaves_live_at_once(chromium: Browser, proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    Call(proxied, "content?chunks=3", session).result()
    [(session_id,)] = until(lambda: proxied.query("SELECT id FROM records_session WHERE name = %s", session))
    row = alice.open("/").locator(".stream-row", has_text=session)
    expect(row).to_be_visible()
    with another(chromium, alice, proxied.server.base_url) as bob:
        page = bob.open(f"/sessions/{session_id}/")
        page.locator("#delete > summary").click()
        page.locator("#delete button").click()
        page.wait_for_url(lambda url: str(session_id) not in url)
        expect(row).to_have_count(0)
        expect(bob.open("/").locator(".stream-row", has_text=session)).to_have_count(0)


def test_a_dropped_socket_and_five_hundred_chunks_missed_offline_leave_no_gap(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    call = Call(proxied, "content?chunks=2000&pace=20&seed=4", session)
    alice.open(stream_path(proxied, session))
    grown(alice.page, "#b0-text")
    with alice.page.expect_websocket():
        alice.page.evaluate(f"{SOCKET}.close()")
    alice.page.wait_for_function(f"() => {SOCKET}.readyState === WebSocket.OPEN")
    grown(alice.page, "#b0-text", by=200)
    expect(alice.page.locator("#pill")).to_have_text("live")
    alice.context.set_offline(True)
    alice.page.evaluate(f"{SOCKET}.close()")
    expect(alice.page.locator("#pill")).to_have_text("disconnected, retrying")
    tried: list[WebSocket] = []
    alice.page.on("websocket", lambda socket: tried.append(socket))
    had = len(call.chunks)
    # Its events arrive while the page is asked for something.
    until(lambda: text_of(alice) and tried and len(call.chunks) >= had + 500)
    alice.context.set_offline(False)
    text = call.result().text
    expect(alice.page.locator("#pill")).to_have_text(re.compile("finished|not on record"))
    assert text_of(alice) == text
    assert alice.page.locator("#block-cards > *").count() == 1


def test_a_killed_and_restarted_server_ends_in_the_right_state(
    chromium: Browser, proxied: Proxied, alice: Reader
) -> None:
    server = proxied.server
    session = new_session()
    Call(proxied, LONG, session)
    path = stream_path(proxied, session)
    alice.open(path)
    grown(alice.page, "#b0-text", by=200)
    with another(chromium, alice, server.base_url) as bob:
        bob.open("/")
        screens = screens_of(server)
        kill_the_server(server)
        expect(alice.page.locator("#pill")).to_have_text("disconnected, retrying")
        assert psutil.wait_procs([screens], timeout=120)[1] == []
        expect(alice.page.locator("#stream-state")).to_contain_text("interrupted")
        expect(alice.page.locator("#pill")).to_have_text("finished")
        shown = alice.page.locator("#block-cards").inner_text()
        alice.open(path)
        assert alice.page.locator("#block-cards").inner_text() == shown

        expect(bob.page.locator("#pill")).to_have_text("live")
        later = new_session()
        Call(proxied, LONG, later)
        expect(bob.page.get_by_role("link", name=later)).to_have_count(1)
        expect(bob.page.get_by_role("link", name=session)).to_have_count(1)


def test_the_process_of_the_websockets_is_killed_and_no_client_notices(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    call = Call(proxied, "content?chunks=1200&pace=20&seed=6", session)
    alice.open(stream_path(proxied, session))
    grown(alice.page, "#b0-text")
    killed = screens_of(proxied.server)
    with alice.page.expect_websocket():
        killed.kill()
    expect(alice.page.locator("#pill")).to_have_text("live")
    assert screens_of(proxied.server) != killed
    text = call.result().text
    expect(alice.page.locator("#pill")).to_have_text("finished")
    assert text_of(alice) == text
    assert alice.page.locator("#block-cards > *").count() == 1


def test_pause_freezes_the_page_and_counts_what_is_new(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    call = Call(proxied, LONG, session)
    alice.open(stream_path(proxied, session))
    grown(alice.page, "#b0-text")
    alice.page.keyboard.press("p")
    expect(alice.page.locator("#pill")).to_have_text(re.compile(r"paused, \d+ new"))
    before = text_of(alice)
    expect(alice.page.locator("#pill")).to_have_text(re.compile(r"paused, \d\d new"))
    assert text_of(alice) == before
    alice.page.keyboard.press("p")
    expect(alice.page.locator("#pill")).to_have_text("live")
    assert grown(alice.page, "#b0-text") > len(before)
    assert call.is_alive()


def test_what_ended_while_the_page_was_paused_is_there_on_resuming(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    call = Call(proxied, "content?chunks=500&pace=20&seed=3", session)
    alice.open(stream_path(proxied, session))
    grown(alice.page, "#b0-text")
    alice.page.keyboard.press("p")
    text = call.result().text
    expect(alice.page.locator("#pill")).to_have_text("paused; stream has finished")
    assert text_of(alice) != text
    alice.page.keyboard.press("p")
    expect(alice.page.locator("#pill")).to_have_text("finished")
    assert text_of(alice) == text
    expect(alice.page.locator("#stream-state")).to_contain_text("completed")


def test_following_ends_however_the_person_scrolls(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    Call(proxied, "content?chunks=20000&pace=10&seed=3", session)
    alice.page.set_viewport_size({"width": 1280, "height": 300})
    alice.open(stream_path(proxied, session))
    alice.wait_for("() => scrollY > 300")
    for element in ("#pill", "#stream-state", "#block-list > li", "#verdict-count"):
        expect(alice.page.locator(element)).to_be_in_viewport()
    alice.page.evaluate("scrollTo(0, 0)")  # as a scrollbar does
    expect(alice.page.locator("#follow")).to_have_attribute("aria-pressed", "false")
    grown(alice.page, "#b0-text", by=200)
    assert alice.page.evaluate("scrollY") == 0


def test_a_pane_stays_where_it_was_scrolled_to(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    Call(proxied, "parallel-tools?pace=600", session)
    alice.page.set_viewport_size({"width": 1280, "height": 160})
    alice.open(stream_path(proxied, session))
    expect(alice.page.locator("#block-list > li")).to_have_count(3)
    alice.page.evaluate("() => { const pane = document.querySelector('.pane'); pane.scrollTop = 30; pane.id = 'old'; }")
    alice.page.evaluate(f"{SOCKET}.close()")
    expect(alice.page.locator("#old")).to_have_count(0)
    assert alice.page.evaluate("document.querySelector('.pane').scrollTop") == 30


def test_an_address_in_place_of_a_peeks_id_leads_nowhere(proxied: Proxied, alice: Reader) -> None:
    asked: list[str] = []
    alice.page.on("request", lambda request: asked.append(request.url))
    alice.open("/?peek=../sessions/01a1fe9b-64c7-722a-a1b7-fb5e2dde020d/export/%3Fx=")
    expect(alice.page.locator("#pill")).to_have_text("live")
    expect(alice.page.locator("#peek")).to_be_hidden()
    assert not [url for url in asked if "/sessions/" in url and "peek=" not in url]


def bars(page: Page, path: str) -> int:
    """How many seconds with chunks a row's sparkline shows, apart from the newest second."""
    spark = page.locator(f"#r-{path.split('/')[2].replace('-', '')}-rate path").first
    return (spark.get_attribute("d") or "").count("M")


def test_a_row_opens_a_peek_that_grows_and_is_in_the_url(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    Call(proxied, LONG, session)
    path = stream_path(proxied, session)
    alice.open("/")
    alice.page.get_by_role("link", name=session).click()
    assert grown(alice.page, "#peek #b0-text", by=100) > 0
    assert path.split("/")[2] in alice.page.url
    before = until(lambda: (seen := bars(alice.page, path)) > 1 and seen)
    alice.page.reload()
    assert bars(alice.page, path) >= before  # immediately: what came before the page was opened is included
    grown(alice.page, "#peek #b0-text", by=100)
    below = "document.getElementById('peek').getBoundingClientRect().bottom - innerHeight"
    assert alice.page.evaluate(below) == 0
    alice.page.keyboard.press("Escape")
    expect(alice.page.locator("#peek")).to_be_hidden()
    assert "peek" not in alice.page.url
    expect(alice.page.get_by_role("link", name=session)).to_be_focused()
    assert alice.complaints == []


def test_each_socket_is_filtered_on_the_server(chromium: Browser, proxied: Proxied, alice: Reader) -> None:
    alice.open("/?q=model:sim/tools*")
    with another(chromium, alice, proxied.server.base_url) as bob:
        bob.open("/")
        sessions = [new_session(), new_session()]
        calls = [Call(proxied, LONG, sessions[0]), Call(proxied, "tools?pace=300", sessions[1])]
        for session in sessions:
            expect(bob.page.get_by_role("link", name=session)).to_be_visible()
        expect(alice.page.get_by_role("link", name=sessions[1])).to_be_visible()
        assert alice.page.get_by_role("link", name=sessions[0]).count() == 0
        bob.page.get_by_label("Filter streams").fill(sessions[0])
        expect(bob.page.get_by_role("link", name=sessions[1])).to_be_hidden()
        expect(bob.page).to_have_url(re.compile(sessions[0]))
        assert calls[0].is_alive()


def test_a_person_cancels_a_stream_and_its_client_is_told(proxied: Proxied, alice: Reader) -> None:
    session = new_session()
    before = {each["id"] for each in proxied.simulator.get_json("/_requests")["requests"]}
    call = Call(proxied, LONG, session)
    alice.open(stream_path(proxied, session))
    grown(alice.page, "#b0-text")
    alice.page.get_by_text("Cancel stream").click()
    alice.page.get_by_role("button", name="Yes, cancel it").click()
    expect(alice.page.locator("#stream-state")).to_contain_text("halted")
    call.join(120)
    assert "cancelled by an operator" in str(call.error)
    kept = proxied.recorded(session)
    assert (kept.outcome, kept.error) == ("halted", "cancelled by admin")
    [own] = {each["id"] for each in proxied.simulator.get_json("/_requests")["requests"]} - before
    assert proxied.simulator.get_json(f"/_ended/{own}")["closed_early"] is True


def test_a_run_is_a_row_that_unfolds_and_its_page_has_its_calls(alice: Reader, proxied: Proxied) -> None:
    session, page = new_session(), alice.open("/")
    asked = [{"role": "user", "content": session}]
    body = {"model": "sim/reasoner?speed=inf&seconds=3600", "messages": asked, "stream": True}
    with proxied.posting(body, x_session_id=session, x_streamviz_executor="reasoning"):
        row = page.locator(".stream-row", has_text=session)
        row.locator("summary").click()
        expect(row.locator(".row-calls li").first).to_have_text("plan 1 completed")
        expect(row.get_by_role("link", name="tools 1")).to_be_visible()
        alice.open(row.locator(".row-link").get_attribute("href") or "")
        expect(page.get_by_role("heading", name="Calls of this run")).to_be_visible()
        expect(page.get_by_role("link", name="tools 1")).to_be_visible()
    assert alice.complaints == []
