"""Error pages look like the other pages, and never show internals."""

import re

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import AsyncClient, Client, RequestFactory
from django.urls import get_resolver

from streamviz.dashboard.views import errors
from streamviz.records.ids import uuid7
from streamviz.records.models import Policy
from tests.dashboard.conftest import Cast


def test_a_statement_that_postgres_refuses_is_no_outage(cast: Cast) -> None:
    """As of a server whose tables another version has changed."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE records_apikey RENAME COLUMN default_provider TO later")
    cast["administrator"].raise_request_exception = False
    answer = cast["administrator"].get("/keys/")
    assert answer.status_code == 500
    assert "does not answer" not in answer.content.decode()


@pytest.mark.parametrize("who", ["administrator", "bob", "stranger"])
def test_a_page_that_is_not_there_is_a_plain_404(cast: Cast, who: str) -> None:
    answer = cast[who].get("/no-such-page/")
    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.django_db(transaction=True)
async def test_a_page_that_is_not_there_is_a_404_after_postgres_has_restarted_too(cast: Cast) -> None:
    client = AsyncClient()
    client.cookies = cast["bob"].cookies
    for _ in range(2):
        assert (await client.get("/no-such-page/")).status_code == 404
        await sync_to_async(_end_other_connections)()


def _end_other_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_strangers_are_led_to_the_sign_in_page(cast: Cast) -> None:
    page = cast["stranger"].get("/no-such-page/").content.decode()
    assert '<a class="button button-main" href="/">Sign in</a>' in page
    assert "Go to" not in page


def test_who_may_not_see_a_page_is_told_whom_to_ask(cast: Cast) -> None:
    answer = cast["bob"].get("/policies/new/redact/")
    assert answer.status_code == 403
    assert "Ask an administrator for a role" in answer.content.decode()


def test_who_may_see_nothing_is_not_sent_round_in_a_circle(cast: Cast) -> None:
    page = cast["charlie"].get("/").content.decode()
    assert "Your account has no role yet" in page
    assert "Go to Live" not in page
    assert 'action="/sign-out/"' in page
    assert "Go to Live" in cast["bob"].get("/policies/new/redact/").content.decode()


def test_a_form_without_its_token_has_expired(cast: Cast) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = cast["alice"].cookies
    answer = strict.post("/sign-out/")
    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


def test_who_is_signed_out_gets_no_sign_in_page_within_another(cast: Cast) -> None:
    part = {"hx-request": "true"}
    for path in ("/needs-you/", f"/streams/{uuid7()}/peek/", "/sign-in/"):
        answer = cast["stranger"].get(path, headers=part, follow=True)
        assert (answer.status_code, answer.headers.get("HX-Refresh"), answer.content) == (401, "true", b""), path


def test_a_part_of_a_page_says_in_a_line_what_went_wrong(cast: Cast) -> None:
    part = {"hx-request": "true"}
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = cast["alice"].cookies
    found = [
        cast["bob"].get("/no-such-page/", headers=part),
        cast["bob"].post(f"/streams/{uuid7()}/decide/", headers=part),
        strict.post(f"/streams/{uuid7()}/decide/", headers=part),
    ]
    assert [(each.status_code, each.headers["Content-Type"], each.content.decode()) for each in found] == [
        (404, "text/plain", "Page not found. It may have been deleted, or the address is wrong."),
        (403, "text/plain", "You don't have permission to do that. Ask an administrator for a role that has it."),
        (403, "text/plain", "This page is out of date. Reload it and try again."),
    ]


@pytest.mark.parametrize("headers", [{}, {"hx-request": "true"}], ids=["a page", "a part of one"])
def test_a_form_that_is_too_long_is_answered_so(cast: Cast, guard: Policy, headers: dict[str, str]) -> None:
    answer = cast["alice"].post("/policies/guard/try-out/", {"text": "a" * 3_000_000}, headers=headers)
    assert answer.status_code == 413
    assert "Too long. A form may have at most 2.6 MB." in re.sub("</h1><p>", ". ", answer.content.decode())


@pytest.mark.parametrize("asked", ["policy/?name=a%00b", "policy/?id=99999999999999999999", "apikey/?q=%00"])
def test_what_no_column_can_hold_is_the_askers_mistake(cast: Cast, asked: str) -> None:
    cast["administrator"].raise_request_exception = False
    assert cast["administrator"].get(f"/admin/records/{asked}").status_code in (200, 302, 400)


def test_a_fault_of_ours_needs_no_database() -> None:
    assert get_resolver().resolve_error_handler(500) is errors.server_error
    answer = errors.server_error(RequestFactory().get("/"))
    assert answer.status_code == 500
    assert "Something went wrong" in answer.content.decode()


@pytest.mark.django_db
def test_a_host_that_is_not_ours_is_told_so_and_logged_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    host = "<b>elsewhere\n.example"
    answer = Client(raise_request_exception=False).get("/sign-in/", headers={"host": host})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "ALLOWED_HOSTS" in page
    assert "elsewhere" not in page
    [record] = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.getMessage() == f"refused a request for the host {host!r}: it is not among ALLOWED_HOSTS"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "asked", "why"),
    [
        ("application/x-www-form-urlencoded", "a=1&" * 1001, "DATA_UPLOAD_MAX_NUMBER_FIELDS"),
        ("application/x-www-form-urlencoded", "a=" + "1" * 3_000_000, "DATA_UPLOAD_MAX_MEMORY_SIZE"),
        ("multipart/form-data", "a=1", "Invalid boundary"),
    ],
)
def test_a_form_that_cannot_be_read_is_logged_without_a_traceback(
    caplog: pytest.LogCaptureFixture, kind: str, asked: str, why: str
) -> None:
    """Strangers may send any number of them."""
    answer = Client(raise_request_exception=False).post("/sign-in/", asked, content_type=kind)
    assert answer.status_code in (400, 413)
    assert {(record.levelname, record.exc_info) for record in caplog.records} == {("WARNING", None)}
    assert why in caplog.text


def test_what_else_cannot_be_understood_says_nothing_of_hosts() -> None:
    assert "ALLOWED_HOSTS" not in errors.bad_request(RequestFactory().get("/"), ValueError()).content.decode()
