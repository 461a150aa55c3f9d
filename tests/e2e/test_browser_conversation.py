"""A session in a browser: an agent's run, readable as a conversation without a click."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browsing import NARROW, Call, Reader, faults
from tests.e2e.proxied import Proxied, until
from tests.services import Serving

pytestmark = pytest.mark.slow

SESSION = "checkout-flake"
SYSTEM = "You are a careful engineer in the repository checkout-service. Run the tests before you change anything."
TASK = "test_retry_backs_off fails about one run in five on CI. Find out why and mend it."
RESULTS = ["4 failed, 16 passed in 11.42s", "from billing import clock\n\ndef backoff(attempt):", "12 files"]
COUNT = """
SELECT count(*) FROM records_stream s JOIN records_session n ON n.id = session_id WHERE name = %s AND outcome <> ''
"""
FIND = "SELECT s.id FROM records_stream s JOIN records_session n ON n.id = session_id WHERE name = %s ORDER BY 1"
# Select an element's text from its first to its last text node, as dragging across it does.
SELECT_ITS_TEXT = """(element) => {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const first = texts.nextNode();
  getSelection().setBaseAndExtent(first, 0, first, first.length);
}"""
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("read_file", "run_shell", "list_directory")]


class Run:
    """An agent that works through a proxied model: `said` is the conversation from its point of view."""

    def __init__(self, proxied: Proxied) -> None:
        self.proxied, self.turns = proxied, 0
        self.said: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]

    def ask(self, model: str, *words: dict[str, Any], **more: Any) -> None:
        """Run a turn: append these messages and the model's answer to them."""
        self.said += words
        body = {"model": f"sim/{model}", "messages": self.said, "tools": TOOLS, **more}
        self.turns += 1
        answer = self.proxied.post(body, x_session_id=SESSION, user_agent="coding-agent/1.4")
        if answer.status == 200:
            self.said.append(json.loads(answer.body)["choices"][0]["message"])

    def results(self) -> list[dict[str, Any]]:
        """The tools' results for the last calls."""
        calls = self.said[-1].get("tool_calls") or []
        return [
            {"role": "tool", "tool_call_id": call["id"], "content": RESULTS[n % len(RESULTS)]}
            for n, call in enumerate(calls)
        ]


@pytest.fixture(scope="module")
def run(serving: Serving) -> Iterator[Run]:
    with serving() as server, Proxied(server) as proxied:
        proxied.sign_in()
        proxied.switch("shell-guard", "enforce")
        run = Run(proxied)
        run.ask("parallel-tools?speed=8", {"role": "user", "content": TASK})
        run.ask("thinking?speed=8", *run.results())
        run.ask("dangerous?speed=8", {"role": "user", "content": "Then clear the caches."})
        until(lambda: proxied.query(COUNT, SESSION)[0][0] == run.turns)
        yield run


def visit(run: Run, chromium: Browser, **options: Any) -> Reader:
    cookies: list[Any] = [
        {"name": name, "value": value, "url": run.proxied.server.base_url}
        for name, value in run.proxied.http.cookies.items()
    ]
    reader = Reader(chromium, run.proxied.server.base_url, **options)
    reader.context.add_cookies(cookies)
    return reader


def session_page(run: Run, reader: Reader, query: str = "") -> Page:
    [(session_id,)] = run.proxied.query("SELECT id FROM records_session WHERE name = %s", SESSION)
    return reader.open(f"/sessions/{session_id}/{query}")


def test_a_session_reads_as_the_run_that_it_was(run: Run, chromium: Browser) -> None:
    with visit(run, chromium) as reader:
        page = session_page(run, reader)
        shown = " ".join((page.locator(".pane-middle").text_content() or "").split())
        said = [message.get("content") or "" for message in run.said]
        # The client gets a policy's text after the model's; the page shows it with the call that it replaces.
        for text in (part for each in said for part in each.replace("[Denied", "\n[Denied").split("\n")):
            assert " ".join(text.split()) in shown
        for call in (call for message in run.said for call in message.get("tool_calls") or ()):
            expect(page.locator(".card-head", has_text=call["function"]["name"]).first).to_be_visible()
        expect(page.locator(".block-card.is-denied")).to_contain_text("run_shell")
        expect(page.locator(".got-instead")).to_contain_text("shell-guard")
        expect(page.locator(".turn-item").nth(2)).to_contain_text("deny")
        assert reader.complaints == []


def test_a_turn_is_selected_in_the_drawing_and_in_the_tree(run: Run, chromium: Browser) -> None:
    with visit(run, chromium) as reader:
        page = session_page(run, reader)
        page.locator(".turn-item").nth(1).click()
        expect(page.locator("aside h2").first).to_contain_text("Turn 2")
        page.locator("a.turn-link").nth(2).click()
        expect(page.locator("aside")).to_contain_text("shell-guard")
        expect(page.locator("#t3.is-selected")).to_be_visible()
        assert "turn=3" in page.url


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("wide", "dark"), ("narrow", "dark")])
def test_a_sessions_page_has_no_serious_fault_and_fits(run: Run, chromium: Browser, scheme: Any, size: str) -> None:
    options = {"viewport": NARROW} if size == "narrow" else {}
    with visit(run, chromium, color_scheme=scheme, bypass_csp=True, **options) as reader:
        page = session_page(run, reader, "?turn=3")
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


# While playing, the button keeps the background that its text is made for.
STAYS_READABLE = """button => {
  const ground = () => getComputedStyle(button).backgroundColor;
  const before = ground();
  button.setAttribute("aria-pressed", "true");
  const pressed = ground();
  button.setAttribute("aria-pressed", "false");
  return pressed === before;
}"""


def test_the_lane_of_a_later_block_leads_to_the_moment_when_that_begins(run: Run, chromium: Browser) -> None:
    Call(run.proxied, "content-tools-empty?speed=8", "later").result()
    until(lambda: run.proxied.query(COUNT, "later")[0][0] == 1)
    with visit(run, chromium) as reader:
        page = reader.open(f"/streams/{run.proxied.query(FIND, 'later')[0][0]}/")
        lane = page.locator("a.lane-name").nth(1)
        expect(lane).to_have_attribute("href", "#b1")
        page.keyboard.press("Home")
        expect(lane).to_have_attribute("href", re.compile(r"^\?at=\d+#b1$"))
        lane.click()
        expect(page.locator("#b1")).to_be_in_viewport()
        expect(lane).to_have_attribute("href", "#b1")
        assert reader.complaints == []


def test_a_turn_is_played_again_and_its_tapes_are_compared(run: Run, chromium: Browser) -> None:
    Call(run.proxied, "dangerous?speed=8", "played-again").result()
    until(lambda: run.proxied.query(COUNT, "played-again")[0][0] == 1)
    stream = f"/streams/{run.proxied.query(FIND, 'played-again')[0][0]}/"
    with visit(run, chromium) as reader:
        page = reader.open(stream)
        expect(page.locator("#facts")).to_contain_text("upstream: tool_calls")
        page.keyboard.press("Home")
        for _ in range(3):
            page.keyboard.press(".")  # faster than the server answers
        expect(page.locator("#played-chunk")).to_have_text("chunk 3")
        page.keyboard.press(",")
        expect(page.locator("#played-chunk")).to_have_text("chunk 2")
        assert page.url.endswith(f"{stream}?at=2")
        page.locator("#scrub").fill("1")
        expect(page.locator("#played-chunk")).to_have_text("chunk 0")
        page.get_by_role("button", name="8×").click()
        assert page.locator("#play").evaluate(STAYS_READABLE)
        page.locator("#play").press("Enter")
        expect(page.locator("#b0-text")).not_to_be_empty()
        expect(page.locator("#block-cards .is-denied")).to_be_visible()
        chunks = page.locator("#transport").get_attribute("data-chunks")
        expect(page).to_have_url(re.compile(rf"\?at={chunks}$"))
        page.locator("#b0-text").evaluate(SELECT_ITS_TEXT)
        page.get_by_role("link", name="Chunks of the selected text").click()
        expect(page.locator(".tape-row.is-current")).to_be_visible()
        page.keyboard.press("n")
        expect(page.locator(".is-current .tape-what")).to_have_text("dropped")
        assert reader.complaints == []


def test_a_list_is_kept_as_a_view_and_exported_and_two_of_its_streams_compared(run: Run, chromium: Browser) -> None:
    with visit(run, chromium) as reader:
        page = reader.open("/sessions/?q=model:sim*&sort=-streams")
        page.locator(".menu-views > summary").click()
        page.get_by_label("Name", exact=True).fill("Busiest")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".nav-view")).to_have_text("Busiest")
        expect(page.locator("th[aria-sort=descending]")).to_have_text("Streams")
        page.locator(".menu-export > summary").click()
        with page.expect_download() as download:
            page.locator("a[data-progress]").first.click()
        assert '{"session":' in download.value.path().read_text()
        expect(page.locator("#export-progress")).to_contain_text("Exported")
        reader.open(f"/compare/?a={run.proxied.query(FIND, SESSION)[0][0]}")
        page.locator(".compare-near a").first.click()
        expect(page.locator(".compare-times .side-mark")).to_have_text(["A", "B"])
        assert reader.complaints == []
