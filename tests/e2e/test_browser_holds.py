"""Blocks that are held for a person: allowed, denied, left to time out, and decided by two people at once."""

import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Browser, Locator, expect

from tests.e2e.browsing import NARROW, Call, Reader, faults
from tests.e2e.proxied import Proxied, until
from tests.services import Serving

pytestmark = pytest.mark.slow

GUARD = "shell-guard"
OF_ALL_TOOLS = """
UPDATE records_policy SET kind = 'tool_rule', parameters = '{"names": ["*"]}', by_hand = 'deny', by_hand_seconds = 600
WHERE name = 'schema-check'
"""
VIEWER = """
WITH person AS (
    INSERT INTO auth_user (
        username, password, first_name, last_name, email, is_superuser, is_staff, is_active, date_joined
    ) VALUES (%s, %s, '', '', '', false, false, true, now()) RETURNING id
)
INSERT INTO auth_user_groups (user_id, group_id)
SELECT person.id, auth_group.id FROM person, auth_group WHERE auth_group.name = 'viewer'
"""


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    """A streamviz whose guard asks a person."""
    with serving() as server, Proxied(server) as found:
        found.sign_in()
        yield found


@pytest.fixture
def alice(chromium: Browser, proxied: Proxied) -> Iterator[Reader]:
    with reader(chromium, proxied) as found:
        yield found


def reader(chromium: Browser, proxied: Proxied, **options: Any) -> Reader:
    """A browser with the administrator's session."""
    cookies: list[Any] = [
        {"name": name, "value": value, "url": proxied.server.base_url} for name, value in proxied.http.cookies.items()
    ]
    found = Reader(chromium, proxied.server.base_url, **options)
    found.context.add_cookies(cookies)
    return found


def ask_a_person(proxied: Proxied, seconds: float) -> None:
    """Have the guard ask a person, with this time limit; it denies after that."""
    statement = "UPDATE records_policy SET by_hand = 'deny', by_hand_seconds = %s WHERE name = %s"
    proxied.query(statement, seconds, GUARD)
    proxied.switch(GUARD, "enforce")


def held_call(proxied: Proxied, *readers: Reader) -> Call:
    """A dangerous call that waits for a person, shown on every reader's page."""
    session = uuid.uuid4().hex
    call = Call(proxied, "dangerous?pace=10", session)
    query = "SELECT s.id FROM records_stream s JOIN records_session n ON n.id = session_id WHERE name = %s"
    [(stream_id,)] = until(lambda: proxied.query(query, session))
    for each in readers:
        each.open(f"/streams/{stream_id}/")
        expect(button(each, "Allow")).to_be_visible()
    return call


def button(reader: Reader, name: str) -> Locator:
    return reader.page.locator("#hold-list").get_by_role("button", name=re.compile(rf"^{name}( [ad])?$"))


def verdict(reader: Reader) -> str:
    entry = reader.page.locator("#verdict-list > li").first
    expect(entry).to_be_visible()
    return entry.inner_text()


def test_a_call_that_a_person_allows_goes_out(proxied: Proxied, alice: Reader) -> None:
    ask_a_person(proxied, 90)
    call = held_call(proxied, alice)
    expect(alice.page.locator("#hold-list")).to_contain_text(GUARD)
    expect(alice.page.locator("#hold-list")).to_contain_text(re.compile(r"If nobody decides in time, it is denied"))
    assert call.arguments == {}
    raw = alice.page.locator("#b1-text")
    alice.page.get_by_role("button", name="Raw").click()
    expect(raw).to_be_visible()
    button(alice, "Allow").click()
    assert "rm -rf" in call.result().arguments["run_shell"]
    assert re.search(r"allow.*by admin", verdict(alice), re.DOTALL)
    expect(alice.page.locator("#hold-list > li")).to_have_count(0)
    expect(alice.page.locator("#b1")).not_to_have_class(re.compile("is-held"))
    expect(raw).to_be_visible()


def test_a_call_that_a_person_denies_does_not_go_out(proxied: Proxied, alice: Reader) -> None:
    ask_a_person(proxied, 600)
    call = held_call(proxied, alice)
    button(alice, "Deny").click()
    assert call.result().arguments == {}
    assert call.finish_reasons == ["stop"]
    assert re.search(r"deny.*by admin", verdict(alice), re.DOTALL)


def test_a_call_that_nobody_decides_on_is_denied_once_its_time_is_up(proxied: Proxied, alice: Reader) -> None:
    ask_a_person(proxied, 20)
    call = held_call(proxied, alice)
    assert call.result().arguments == {}
    assert "deny" in verdict(alice)
    assert "by admin" not in verdict(alice)
    expect(button(alice, "Allow")).to_have_count(0)


def test_of_two_people_the_first_decides_and_the_other_is_told(
    chromium: Browser, proxied: Proxied, alice: Reader
) -> None:
    ask_a_person(proxied, 600)
    with reader(chromium, proxied) as bob:
        call = held_call(proxied, alice, bob)
        path = bob.page.evaluate("document.querySelector('#hold-list [hx-post]').getAttribute('hx-post')")
        button(alice, "Deny").click()
        assert call.result().arguments == {}
        expect(button(bob, "Allow")).to_have_count(0)
        bob.page.evaluate("path => { htmx.ajax('POST', path, {values: {asks: 1, decision: 'allow'}}); }", path)
        expect(bob.page.get_by_role("alert")).to_contain_text("Already decided.")
        assert re.search(r"deny.*by admin", verdict(bob), re.DOTALL)


def test_a_browser_that_dies_leaves_the_decision_to_others(chromium: Browser, proxied: Proxied, alice: Reader) -> None:
    ask_a_person(proxied, 600)
    bob = reader(chromium, proxied)
    call = held_call(proxied, bob, alice)
    bob.context.close()
    assert call.is_alive()
    button(alice, "Allow").click()
    assert "rm -rf" in call.result().arguments["run_shell"]


def test_a_viewer_sees_what_is_held_and_is_asked_nothing(chromium: Browser, proxied: Proxied, alice: Reader) -> None:
    proxied.query(VIEWER, "charlie", make_password("a viewer's password"))
    ask_a_person(proxied, 600)
    call = held_call(proxied, alice)
    with Reader(chromium, proxied.server.base_url) as charlie:
        page = charlie.open("/sign-in/")
        page.get_by_label("User name").fill("charlie")
        page.get_by_label("Password").fill("a viewer's password")
        page.get_by_role("button", name="Sign in").click()
        page.goto(alice.page.url)
        expect(page.locator("#hold-list")).to_contain_text("If nobody decides in time, it is denied")
        expect(button(charlie, "Allow")).to_be_hidden()
        expect(button(charlie, "Deny")).to_be_hidden()
        expect(page.get_by_text("Cancel stream")).to_have_count(0)
        path = page.evaluate("document.querySelector('#hold-list [hx-post]').getAttribute('hx-post')")
        page.evaluate("path => { htmx.ajax('POST', path, {values: {asks: 1, decision: 'allow'}}); }", path)
        expect(page.get_by_role("alert")).to_be_visible()
    assert call.is_alive()
    button(alice, "Deny").click()
    assert call.result().arguments == {}


def test_a_session_that_is_allowed_is_not_asked_about_again(proxied: Proxied, alice: Reader) -> None:
    ask_a_person(proxied, 600)
    call = held_call(proxied, alice)
    button(alice, "Allow all of this session").click()
    assert "rm -rf" in call.result().arguments["run_shell"]
    again = Call(proxied, "dangerous?pace=10", call.name).result()
    assert "rm -rf" in again.arguments["run_shell"]


@pytest.mark.parametrize(("size", "scheme"), [("wide", "dark"), ("narrow", "light")])
def test_a_question_has_no_serious_fault(chromium: Browser, proxied: Proxied, size: str, scheme: str) -> None:
    options = {"viewport": NARROW} if size == "narrow" else {}
    ask_a_person(proxied, 600)
    with reader(chromium, proxied, color_scheme=scheme, bypass_csp=True, **options) as alice:
        call = held_call(proxied, alice)
        expect(button(alice, "Deny")).to_be_in_viewport()
        assert faults(alice.page) == []
        path = urlsplit(alice.page.url).path
        alice.open("/")
        expect(alice.page.locator(".asks-row")).to_be_visible()
        assert faults(alice.page) == []
        alice.open(path)
        button(alice, "Deny").click()
        assert call.result().arguments == {}


def test_a_key_that_is_held_down_answers_one_question_alone(proxied: Proxied, alice: Reader) -> None:
    proxied.query(OF_ALL_TOOLS)
    proxied.switch("schema-check", "enforce")
    call = Call(proxied, "parallel-tools?pace=50", uuid.uuid4().hex)
    page = alice.open("/")
    page.get_by_role("link", name=call.name).click()
    page.locator("#peek").get_by_role("link", name="Open").click()
    questions, press = page.locator("#hold-list [data-decide=a]"), page.keyboard
    expect(questions).to_have_count(3)
    press.down("a")
    expect(questions).to_have_count(2)
    press.down("a")  # as a keyboard repeats it
    press.up("a")
    for left in (1, 0):
        press.press("d")
        expect(questions).to_have_count(left)
    proxied.switch("schema-check", "off")
    assert len(call.result().arguments) == 1


def test_the_selected_row_is_decided_by_key(proxied: Proxied, alice: Reader) -> None:
    ask_a_person(proxied, 600)
    calls = [held_call(proxied), held_call(proxied)]
    page = alice.open("/")
    expect(page.locator(".asks-row")).to_have_count(2)
    expect(page).to_have_title(re.compile(r"^\(2\) Live"))
    page.keyboard.press("a")  # no row is selected
    page.keyboard.press("g")
    expect(page.locator(".asks-row .row-link").first).to_be_focused()
    page.keyboard.press("a")
    expect(page.locator(".asks-row")).to_have_count(1)
    expect(page.get_by_text("allowed by admin", exact=True).first).to_be_visible()
    expect(page).to_have_title(re.compile(r"^\(1\) Live"))
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.locator(".asks-row")).to_have_count(0)
    assert sorted(len(call.result().arguments) for call in calls) == [0, 1]
