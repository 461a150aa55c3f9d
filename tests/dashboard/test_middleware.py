"""The Content-Security-Policy: strict everywhere except in the admin, and on every response."""

import re

import pytest

from tests.dashboard.conftest import Cast, recorded

PAGES = ["/", "/sessions/", "/policies/", "/keys/", "/account/", "/sign-in/", "/no-such-page/", "/favicon.ico"]
STATIC = ["/static/css/base.css", "/static/js/main.js", "/static/icon.svg"]


def directives(policy: str) -> dict[str, list[str]]:
    return {name: sources for name, *sources in (part.split() for part in policy.split(";"))}


@pytest.mark.parametrize("path", [*PAGES, *STATIC])
@pytest.mark.parametrize("who", ["administrator", "stranger"])
def test_the_content_security_policy_is_strict(cast: Cast, path: str, who: str) -> None:
    found = directives(cast[who].get(path).headers["Content-Security-Policy"])
    assert found["default-src"] == found["script-src"] == found["style-src"] == ["'self'"]
    assert found["object-src"] == found["base-uri"] == found["frame-ancestors"] == ["'none'"]
    assert found["form-action"] == ["'self'"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("who", ["administrator", "stranger"])
def test_no_page_is_kept_for_others(cast: Cast, path: str, who: str) -> None:
    found = cast[who].get(path).headers["Cache-Control"]
    assert "private" in found
    assert {"no-cache", "no-store"} & set(found.replace(" ", "").split(","))


def test_a_stylesheet_is_kept(cast: Cast) -> None:
    assert "max-age" in cast["stranger"].get(STATIC[0]).headers["Cache-Control"]


def test_the_content_security_policy_of_a_streams_pages_is_strict(cast: Cast) -> None:
    stream = recorded()
    for tab in ("", "chunks/", "request/"):
        policy = cast["bob"].get(f"/streams/{stream.pk}/{tab}").headers["Content-Security-Policy"]
        assert directives(policy)["script-src"] == ["'self'"]


def test_the_admin_has_what_it_needs_and_nothing_from_elsewhere(cast: Cast) -> None:
    found = directives(cast["administrator"].get("/admin/").headers["Content-Security-Policy"])
    assert set(found["script-src"]) == {"'self'", "'unsafe-inline'", "'unsafe-eval'"}
    assert found["default-src"] == ["'self'"]


@pytest.mark.parametrize("path", ["/", "/sessions/", "/policies/", "/keys/", "/account/"])
def test_no_page_has_what_it_would_forbid(cast: Cast, path: str) -> None:
    page = cast["administrator"].get(path).content.decode()
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page)


def test_browsers_that_ask_for_an_icon_get_ours(cast: Cast) -> None:
    answer = cast["stranger"].get("/favicon.ico", follow=True)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/svg+xml")


@pytest.mark.parametrize(
    ("opened", "led_to"),
    [
        ("/streams/{}/replay/", "/streams/{}/"),
        ("/simulate/", "/"),
        ("/policies/guard/mode/", "/policies/guard/"),
        ("/policies/guard/roll-back/1/", "/policies/guard/"),
        ("/keys/1/revoke/", "/keys/"),
        ("/sign-out/", "/"),
    ],
)
def test_the_address_of_a_form_leads_to_its_page(cast: Cast, opened: str, led_to: str) -> None:
    pk = recorded().pk
    answer = cast["administrator"].get(opened.format(pk), headers={"accept": "text/html,*/*"})
    assert (answer.status_code, answer.headers["Location"]) == (302, led_to.format(pk))


def test_programs_are_told_that_an_address_takes_forms_alone(cast: Cast) -> None:
    assert cast["administrator"].get("/simulate/").status_code == 405
