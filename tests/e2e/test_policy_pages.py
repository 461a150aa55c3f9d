"""The policies' pages in a real browser: switch, change, try out, roll back, back-test."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browsing import NARROW, Reader
from tests.e2e.proxied import Proxied, locked, until
from tests.services import Serving

pytestmark = pytest.mark.slow

# A back-test holds a lock of this class while it runs. Other databases' locks may be those of other tests.
ALIVE = """
SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = x'4254'::int
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    """A streamviz for these tests alone, with some streams on record."""
    with serving() as server, Proxied(server) as found:
        for number in range(6):
            found.ask("dangerous?speed=inf" if number % 2 else "content?speed=inf&chunks=9", f"session-{number}")
        for number in range(6):
            found.recorded(f"session-{number}")
        yield found


@pytest.fixture(scope="module")
def profile(chromium: Browser, proxied: Proxied) -> Iterator[Reader]:
    """The administrator's browser."""
    with Reader(chromium, proxied.server.base_url) as reader:
        reader.sign_in(proxied.server.sign_in_link)
        yield reader


@pytest.fixture
def reader(profile: Reader) -> Iterator[Reader]:
    profile.complaints.clear()
    yield profile
    assert profile.complaints == []


def switch(page: Page, mode: str, why: str) -> None:
    row = page.locator("tr", has_text="shell-guard")
    row.locator("summary.mode").click()
    row.locator("label", has_text=mode).click()
    row.locator("input[name=reason]").fill(why)
    row.get_by_role("button", name="Switch").click()


def test_a_mode_is_switched_in_place_and_says_when_every_worker_has_it(reader: Reader, proxied: Proxied) -> None:
    page = reader.open("/policies/")
    switch(page, "enforce", "It is time.")
    expect(page.get_by_role("status").filter(has_text="shell-guard is now enforced, as v2.")).to_be_visible()
    row = page.locator("tr", has_text="shell-guard")
    expect(row.locator(".spread")).to_contain_text("active")
    assert b"run_shell" not in proxied.ask("dangerous?speed=inf", "switched").body
    switch(page, "off", "Enough.")
    expect(row.locator("summary.mode")).to_contain_text("off")


def test_without_a_reason_nothing_is_switched(reader: Reader) -> None:
    page = reader.open("/policies/")
    switch(page, "shadow", "")
    expect(page.locator("tr", has_text="shell-guard").locator("summary.mode")).to_contain_text("off")


def test_escape_closes_the_switch_also_from_within_its_field(reader: Reader) -> None:
    page = reader.open("/policies/")
    row = page.locator("tr", has_text="shell-guard")
    row.locator("summary.mode").press("Enter")
    row.locator("input[name=reason]").press("Escape")
    expect(row.locator("input[name=reason]")).to_be_hidden()
    expect(row.locator("summary.mode")).to_be_focused()


def test_two_people_change_one_policy(chromium: Browser, reader: Reader, proxied: Proxied) -> None:
    page = reader.open("/policies/secret-leak/")
    page.locator("#edit > summary").click()
    with Reader(chromium, proxied.server.base_url, storage_state=reader.context.storage_state()) as other:
        other.open("/policies/secret-leak/").locator("#edit > summary").click()
        theirs = other.page.locator("#policy-form")
        theirs.locator("[name=order]").fill("51")
        theirs.locator("[name=reason]").fill("Theirs.")
        theirs.get_by_role("button", name="Save as v2").click()
        expect(other.page.get_by_role("status").filter(has_text="secret-leak was saved as v2.")).to_be_visible()
    page.locator("#policy-form [name=time_limit]").fill("9")
    page.locator("#policy-form [name=reason]").fill("Mine.")
    page.get_by_role("button", name="Save as v2").click()
    expect(page.get_by_role("alert").filter(has_text="it is now at v2")).to_be_visible()
    expect(page.locator(".newer .diff")).to_contain_text("+order: 51")
    expect(page.locator("#policy-form [name=time_limit]")).to_have_value("9")
    page.get_by_role("button", name="Save as v3").click()
    expect(page.get_by_role("status").filter(has_text="secret-leak was saved as v3.")).to_be_visible()


def test_a_draft_is_tried_on_what_is_pasted_and_on_a_recorded_stream(reader: Reader, proxied: Proxied) -> None:
    page = reader.open("/policies/shell-guard/")
    page.locator("#edit > summary").click()
    page.locator("[name='p.text']").fill("[drafted]")
    page.get_by_label("Subject").select_option("tool_call")
    page.get_by_label("Text or tool arguments").fill('{"command": "rm -rf /"}')
    page.get_by_label("Tool name").fill("run_shell")
    page.get_by_role("button", name="Try it").click()
    result = page.locator("#try-out-result")
    expect(result).to_contain_text("run_shell is denied: it deletes")
    expect(result.locator("section").nth(1)).to_contain_text("[drafted]")
    expect(result).to_contain_text("a changed stream, ending with stop")

    page.get_by_label("Stream id").fill(str(proxied.recorded("session-0").id))
    page.get_by_role("button", name="Try it").press("Enter")
    expect(result).to_contain_text("received the stream unchanged")
    expect(page.get_by_role("button", name="Try it")).to_be_focused()


def test_trying_out_a_draft_without_what_it_needs_says_what_is_missing(reader: Reader) -> None:
    page = reader.open("/policies/shell-guard/")
    page.locator("#edit > summary").click()
    page.locator("#policy-form [name=time_limit]").fill("")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#try-out-result").get_by_role("alert")).to_contain_text("This field is required.")


def test_what_is_wrong_is_told_at_its_field_and_what_is_right_is_saved(reader: Reader) -> None:
    page = reader.open("/policies/shell-guard/")
    page.locator("#edit > summary").click()
    page.locator("[name='p.may_delete']").fill("/home")
    page.locator("#policy-form [name=reason]").fill("Wrong.")
    page.get_by_role("button", name="Save as").click()
    expect(page.locator(".policy-field.has-errors")).to_contain_text("may never be deleted")
    page.locator("[name='p.may_delete']").fill("scratch")
    page.get_by_role("button", name="Save as").click()
    expect(page.locator(".versions li").first).to_contain_text("Wrong.")
    expect(page.locator(".versions li").first.locator(".diff")).to_contain_text('+    "scratch"')


def test_a_policy_is_rolled_back(reader: Reader) -> None:
    page = reader.open("/policies/shell-guard/")
    first = page.locator("#v1")
    first.get_by_text("Roll back to v1").click()
    first.locator("input[name=reason]").fill("As it was.")
    first.get_by_role("button", name="Roll back", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="was rolled back to v1")).to_be_visible()
    expect(page.locator(".versions li").first).to_contain_text("As it was.")


def test_a_back_test_runs_and_says_what_would_be_denied(reader: Reader) -> None:
    page = reader.open("/policies/shell-guard/")
    page.get_by_role("button", name="Run back-test").click()
    expect(page.locator(".backtest-head")).to_contain_text("done")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.locator(".facts div", has_text="Newly denied")).to_contain_text(re.compile("[1-9]"))
    expect(page.locator("tbody tr").first).to_contain_text("deny")


def no_chunk_can_be_read(proxied: Proxied) -> AbstractContextManager[None]:
    """Block everyone who reads a chunk for the duration of the block."""
    return locked(proxied.server.environment["DATABASE_URL"], "records_upstreamrun")


def test_a_back_test_that_runs_is_cancelled(reader: Reader, proxied: Proxied) -> None:
    page = reader.open("/policies/shell-guard/")
    head, cancel = page.locator(".backtest-head"), page.get_by_role("button", name="Cancel")
    with no_chunk_can_be_read(proxied):
        page.get_by_role("button", name="Run back-test").click()
        expect(head).to_contain_text("running")
        assert proxied.query(ALIVE)
        cancel.click()
        expect(head).to_contain_text("cancelled")
    until(lambda: not proxied.query(ALIVE))
    page.reload()
    expect(head).to_contain_text("cancelled")
    expect(cancel).to_have_count(0)


def test_the_pages_fit_a_narrow_screen(chromium: Browser, reader: Reader, proxied: Proxied) -> None:
    state = reader.context.storage_state()
    with Reader(chromium, proxied.server.base_url, viewport=NARROW, storage_state=state) as narrow:
        for path in ("/policies/", "/policies/shell-guard/", "/policies/new/limits/"):
            narrow.open(path)
            assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert narrow.complaints == []
