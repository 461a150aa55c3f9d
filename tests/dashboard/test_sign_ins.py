"""Signing in: how often someone may try, what the log says, and the one-time link."""

import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.utils import timezone

from streamviz.dashboard.sign_in_links import sign_in_link
from streamviz.dashboard.sign_ins import MOST_OF_ACCOUNT, MOST_OF_ADDRESS, WINDOW, Attempt, TooManyAttempts
from streamviz.records.models import SignInAttempt

pytestmark = pytest.mark.django_db

RIGHT, WRONG = "a-good-passphrase", "a-bad-passphrase"


@pytest.fixture(autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Make hashing cheap, as its cost does not matter here."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        User.objects.create_user("alice", password=RIGHT)
        yield


def sign_in(password: str, name: str = "alice", address: str = "192.0.2.1") -> int:
    answer = Client().post("/sign-in/", {"username": name, "password": password}, REMOTE_ADDR=address)
    return int(answer.status_code)


def test_after_too_many_attempts_an_account_is_refused_from_everywhere() -> None:
    for n in range(MOST_OF_ACCOUNT):
        assert sign_in(WRONG, address=f"192.0.2.{n}") == 200
    answer = Client().post("/sign-in/", {"username": "ALICE", "password": RIGHT}, REMOTE_ADDR="198.51.100.1")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= WINDOW.total_seconds()
    assert "Too many attempts to sign in. Try again in 15 min." in answer.content.decode()


def test_after_too_many_attempts_an_address_is_refused_whatever_the_account() -> None:
    for n in range(MOST_OF_ADDRESS):
        Attempt(f"nobody-{n}", "192.0.2.1")
    assert sign_in(RIGHT) == 429
    assert sign_in(RIGHT, address="192.0.2.2") == 302


def test_neighbours_of_an_ipv6_address_are_one() -> None:
    for n in range(MOST_OF_ADDRESS):
        Attempt(f"nobody-{n}", f"2001:db8::{n:x}")
    assert sign_in(RIGHT, address="2001:db8::ffff") == 429
    assert sign_in(RIGHT, address="2001:db8:0:1::1") == 302


def test_ipv4_addresses_that_come_over_ipv6_are_no_neighbours() -> None:
    """As they do at a server that listens on `::`."""
    for n in range(MOST_OF_ADDRESS):
        Attempt(f"nobody-{n}", "::ffff:192.0.2.1")
    assert sign_in(RIGHT, address="::ffff:192.0.2.1") == 429
    assert sign_in(RIGHT, address="192.0.2.1") == 429
    assert sign_in(RIGHT, address="::ffff:192.0.2.2") == 302


def test_a_success_clears_what_failed_before() -> None:
    for _ in range(MOST_OF_ACCOUNT - 1):
        assert sign_in(WRONG) == 200
    assert sign_in(RIGHT) == 302
    assert sign_in(WRONG) == 200


def test_a_refusal_makes_nothing_longer() -> None:
    for _ in range(MOST_OF_ACCOUNT):
        Attempt("alice", "192.0.2.1")
    for _ in range(5):
        with pytest.raises(TooManyAttempts):
            Attempt("alice", "192.0.2.1")
    assert SignInAttempt.objects.count() == MOST_OF_ACCOUNT


def test_after_a_while_all_is_well_again() -> None:
    for _ in range(MOST_OF_ACCOUNT):
        Attempt("alice", "192.0.2.1")
    SignInAttempt.objects.update(at=timezone.now() - WINDOW - timedelta(seconds=1))
    assert sign_in(RIGHT) == 302
    assert SignInAttempt.objects.count() == 0


def test_attempts_at_once_are_all_counted() -> None:
    begun = [Attempt("alice", "192.0.2.1") for _ in range(MOST_OF_ACCOUNT)]
    with pytest.raises(TooManyAttempts):
        Attempt("alice", "192.0.2.1")
    for attempt in begun:
        attempt.failed()


def test_the_log_has_who_failed_and_no_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    sign_in(WRONG)
    sign_in(WRONG, name="hunter2")
    assert [record.getMessage() for record in caplog.records if record.name == "streamviz.dashboard.sign_ins"] == [
        "sign-in failed for 'alice' from 192.0.2.1",
        "sign-in failed for an account that does not exist from 192.0.2.1",
    ]
    assert WRONG not in caplog.text
    assert "hunter2" not in caplog.text


def test_the_admin_has_no_sign_in_of_its_own() -> None:
    client = Client()
    assert client.get("/admin/login/?next=/admin/records/").headers["Location"] == "/sign-in/?next=/admin/records/"
    assert client.post("/admin/login/", {"username": "alice", "password": RIGHT}).status_code == 302
    assert "_auth_user_id" not in client.session
    client.force_login(User.objects.get(username="alice"))
    assert client.get("/admin/", follow=True).status_code == 403


def test_a_link_that_is_looked_at_is_not_used_up() -> None:
    link = sign_in_link(User.objects.get(username="alice"), "http://testserver")
    for _ in range(2):
        scanner = Client()
        assert scanner.get(link).status_code == scanner.head(link).status_code == 200
        assert "_auth_user_id" not in scanner.session
    person = Client(enforce_csrf_checks=True)
    page = person.get(link)
    assert "alice" in page.content.decode()
    assert person.post(link).status_code == 403
    sent = {"csrfmiddlewaretoken": person.cookies["csrftoken"].value}
    assert person.post(link, sent).status_code == 302
    assert person.session["_auth_user_id"]
    assert Client().get(link).status_code == 302


def test_who_is_signed_in_is_not_sent_round_and_round() -> None:
    person = Client()
    person.force_login(User.objects.get(username="alice"))
    for wanted in ("/sign-in/", "/sign-in/?next=/sign-in/"):
        answer = person.get("/sign-in/", {"next": wanted})
        assert (answer.status_code, answer.headers["Location"]) == (302, "/")


def test_the_present_password_is_guessed_no_oftener_than_at_the_sign_in() -> None:
    person = Client()
    person.force_login(User.objects.get(username="alice"))
    asked = {"new_password1": "another-passphrase", "new_password2": "another-passphrase"}
    for _ in range(MOST_OF_ACCOUNT):
        assert person.post("/account/", {"old_password": WRONG, **asked}).status_code == 200
    answer = person.post("/account/", {"old_password": RIGHT, **asked})
    assert answer.status_code == 429
    assert "Too many attempts" in answer.content.decode()
    assert User.objects.get(username="alice").check_password(RIGHT)
    assert person.get("/admin/password_change/").headers["Location"] == "/account/"


def test_who_knows_the_present_password_sets_another() -> None:
    person = Client()
    person.force_login(User.objects.get(username="alice"))
    new = "another-passphrase"
    sent = {"old_password": RIGHT, "new_password1": new, "new_password2": new}
    assert person.post("/account/", sent).status_code == 302
    assert User.objects.get(username="alice").check_password(new)
    assert not SignInAttempt.objects.exists()
