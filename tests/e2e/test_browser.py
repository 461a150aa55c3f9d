"""The main purpose, in a browser: a stream grows on its page, a policy is switched, the next call is denied."""

import re
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browsing import Call, Reader, grown
from tests.e2e.proxied import Proxied
from tests.services import Serving

GUARD = "shell-guard"


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    """A streamviz whose policies these tests switch."""
    with serving() as server, Proxied(server) as found:
        yield found


@pytest.fixture(scope="module")
def alice(chromium: Browser, proxied: Proxied) -> Iterator[Reader]:
    """The administrator, who used the one-time link and set a password. No page may have reported an error."""
    with Reader(chromium, proxied.server.base_url) as reader:
        page = reader.sign_in(proxied.server.sign_in_link)
        expect(page.get_by_role("heading", name="Set a password")).to_be_visible()
        for label in ("New password", "New password confirmation"):
            page.get_by_label(label, exact=True).fill("nobody guesses this one")
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("button", name="Change password")).to_be_visible()
        yield reader
        assert reader.complaints == []


@pytest.fixture
def session() -> str:
    """A name for the session of this test's call."""
    return f"session-{uuid.uuid4().hex[:8]}"


def open_stream(alice: Reader, session: str) -> None:
    """Open the page of a session's stream from the Live page, through its peek."""
    alice.open("/")
    alice.page.get_by_role("link", name=session).click()
    alice.page.locator("#peek").get_by_role("link", name="Open").click()
    alice.page.wait_for_url("**/streams/*/")


def switch(proxied: Proxied, alice: Reader, mode: str) -> None:
    """Switch the guard in the Django admin as people do: tick its row, choose the action, run it."""
    page = alice.open("/admin/records/policy/")
    page.get_by_role("row", name=GUARD).get_by_role("checkbox").check()
    page.locator("select[name=action]").select_option(f"switch_to_{mode}")
    page.get_by_role("button", name="Run").click()
    page.get_by_label("Why").fill("A test.")
    page.get_by_role("button", name="Switch").click()
    now = {"enforce": "enforced", "shadow": "in shadow"}[mode]
    expect(page.get_by_text(f"{GUARD} is now {now}, as v")).to_be_visible()
    [(found, version)] = proxied.query("SELECT mode, version FROM records_policy WHERE name = %s", GUARD)
    assert found == mode
    proxied.wait_for_version(GUARD, version)


def verdict(alice: Reader) -> str:
    """The first verdict on the stream's page, once there is one."""
    entry = alice.page.locator("#verdict-list > li").first
    expect(entry).to_be_visible()
    return entry.inner_text()


def ended(alice: Reader, outcome: str = "completed") -> None:
    """Expect the stream's page to show how it ended, whether it was opened before or after."""
    expect(alice.page.locator("#stream-state")).to_contain_text(outcome)


def test_the_empty_page_sends_a_simulated_stream(proxied: Proxied, alice: Reader) -> None:
    page = alice.open("/")
    expect(page.get_by_role("heading", name="No streams right now")).to_be_visible()
    page.get_by_role("button", name="Send a simulated stream").last.click()
    row = page.locator(".stream-row").first
    expect(row).to_be_visible()
    expect(page.get_by_role("heading", name="No streams right now")).to_be_hidden()
    expect(row.locator(".tail")).to_have_text(re.compile(r"\w"))


def test_text_grows_before_the_stream_ends(proxied: Proxied, alice: Reader, session: str) -> None:
    call = Call(proxied, "content?chunks=600&pace=40", session)
    open_stream(alice, session)
    assert grown(alice.page, "#b0-text") > 0
    assert grown(alice.page, "#b0-text") > 0
    assert call.is_alive()
    expect(alice.page.locator("#pill")).to_have_text("live")
    text = call.result().text
    expect(alice.page.locator("#pill")).to_have_text("finished")
    assert alice.page.locator("#b0-text").text_content() == text


@pytest.mark.slow
def test_arguments_grow_as_a_tree_before_the_stream_ends(proxied: Proxied, alice: Reader, session: str) -> None:
    call = Call(proxied, "content-tools-empty?seed=5&pace=500", session)
    open_stream(alice, session)
    expect(alice.page.locator("#b1-tree .arg-key").first).to_be_visible(timeout=20_000)
    grown(alice.page, "#b1-tree")
    assert call.is_alive()
    arguments = call.result().arguments
    expect(alice.page.locator("#pill")).to_have_text("finished")
    for number, (name, text) in enumerate(arguments.items(), start=1):
        expect(alice.page.locator(f"#b{number}")).to_contain_text(name)
        assert alice.page.locator(f"#b{number}-text").text_content() == text
        assert alice.page.locator(f"#b{number}-tree .arg-key").count() > 0
    expect(alice.page.locator(".arg-partial")).to_have_count(0)


def test_an_enforcing_policy_holds_denies_and_says_why(proxied: Proxied, alice: Reader, session: str) -> None:
    switch(proxied, alice, "enforce")
    call = Call(proxied, "dangerous?pace=300", session)
    open_stream(alice, session)
    expect(alice.page.locator("#hold-list")).to_contain_text(GUARD)
    expect(alice.page.locator("#stream-state")).to_contain_text("held")
    assert call.is_alive()

    client = call.result()
    assert client.arguments == {}
    assert client.finish_reasons == ["stop"]
    assert client.text

    ended(alice)
    said = verdict(alice)
    assert re.search(rf"deny\s+{GUARD}\s+v\d", said)
    assert "deletes" in said
    expect(alice.page.locator("#b1")).to_contain_text("never sent to the client")
    expect(alice.page.locator("#hold-list > li")).to_have_count(0)
    assert "rm -rf" in (alice.page.locator("#b1-text").text_content() or "")


def test_in_shadow_the_client_gets_everything_and_the_verdict_is_there(
    proxied: Proxied, alice: Reader, session: str
) -> None:
    switch(proxied, alice, "shadow")
    call = Call(proxied, "dangerous?pace=40", session)
    open_stream(alice, session)
    client = call.result()
    ended(alice)
    assert "rm -rf" in client.arguments["run_shell"]
    assert client.finish_reasons == ["tool_calls"]
    assert re.search(rf"would deny\s+{GUARD}\s+v\d", verdict(alice))


def test_the_record_shows_the_same_page_as_the_feed_did(proxied: Proxied, alice: Reader, session: str) -> None:
    call = Call(proxied, "content-tools-empty?pace=40", session)
    open_stream(alice, session)
    call.result()
    ended(alice)
    proxied.recorded(session)
    shown = alice.page.locator("#block-cards").inner_text()
    alice.open("/sessions/")
    alice.page.get_by_role("link", name=session).click()
    alice.page.get_by_role("link", name="Stream", exact=True).first.click()
    alice.page.wait_for_url("**/streams/*/")
    assert alice.page.locator("#block-cards").inner_text() == shown


def test_who_is_signed_out_leaves_no_page_behind(chromium: Browser, proxied: Proxied, alice: Reader) -> None:
    state = alice.context.storage_state()
    with Reader(chromium, proxied.server.base_url, storage_state=state) as reader:
        beside = reader.open("/sessions/")
        kept = reader.context.new_page()
        # As in a browser's page cache, where a page receives no events until it is shown again.
        kept.add_init_script("addEventListener('storage', (event) => event.stopImmediatePropagation())")
        kept.goto("/stats/#charts")
        reader.context.clear_cookies()
        reader.context.new_page().goto("/keys/")
        beside.wait_for_url("**/sign-in/?next=/sessions/")
        expect(kept.get_by_role("heading", name="Stats")).to_be_visible()
        kept.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
        kept.wait_for_url("**/sign-in/?next=/stats/")


def test_who_was_signed_out_meanwhile_is_led_to_sign_in_by_what_they_do_next(
    chromium: Browser, proxied: Proxied, alice: Reader, session: str
) -> None:
    Call(proxied, "content?chunks=30&speed=inf", session).result()
    stream_id = proxied.recorded(session).id
    with Reader(chromium, proxied.server.base_url, storage_state=alice.context.storage_state()) as reader:
        page, scrubbed = reader.open("/"), reader.context.new_page()
        scrubbed.goto(f"/streams/{stream_id}/")
        for each in (page, scrubbed):  # test each alone: no other page notifies it
            each.add_init_script("addEventListener('storage', (event) => event.stopImmediatePropagation())")
            each.reload()
        reader.context.clear_cookies()
        page.get_by_role("link", name=session).click()
        page.wait_for_url("**/sign-in/?next=/**")
        scrubbed.keyboard.press(",")
        scrubbed.wait_for_url("**/sign-in/?next=/streams/**")


def test_who_was_signed_out_meanwhile_sends_no_form_again(
    chromium: Browser, proxied: Proxied, alice: Reader, session: str
) -> None:
    Call(proxied, "content?chunks=30&speed=inf", session).result()
    path = f"/streams/{proxied.recorded(session).id}/"
    with Reader(chromium, proxied.server.base_url, storage_state=alice.context.storage_state()) as reader:
        reader.page.clock.install()
        page, sent = reader.open(path), list[str]()
        page.get_by_role("button", name="Replay").click()
        expect(page.get_by_role("heading", name="Replayed with the enforced policies")).to_be_visible()
        page.on("request", lambda each: sent.append(each.method))
        reader.context.clear_cookies()
        page.clock.fast_forward(15_000)  # it polls by itself for holds that wait for a person
        page.wait_for_url(f"**/sign-in/?next={path}**")
        assert "POST" not in sent


def test_the_admin_leaves_no_page_behind_either(chromium: Browser, proxied: Proxied, alice: Reader) -> None:
    with Reader(chromium, proxied.server.base_url, storage_state=alice.context.storage_state()) as reader:
        beside = reader.open("/admin/records/policy/")
        reader.context.clear_cookies()
        reader.context.new_page().goto("/keys/")
        beside.wait_for_url("**/sign-in/?next=/admin/records/policy/")
