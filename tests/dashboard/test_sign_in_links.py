from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psycopg
import pytest
from django.contrib.auth.models import User, update_last_login
from django.db import connections
from django.test import Client
from pytest_django import Settings

from streamviz.dashboard.sign_in_links import sign_in_link, user_for_link
from streamviz.records.database import conninfo
from tests.e2e.proxied import until

pytestmark = pytest.mark.django_db

WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def alice() -> User:
    return User.objects.create_superuser("alice")


def parts(link: str) -> tuple[str, str]:
    uidb64, token = urlsplit(link).path.removeprefix("/sign-in/link/").strip("/").split("/")
    return uidb64, token


def test_a_link_names_its_user(alice: User) -> None:
    link = sign_in_link(alice, "http://127.0.0.1:8000")
    assert link.startswith("http://127.0.0.1:8000/sign-in/link/")
    assert user_for_link(*parts(link)) == alice


def test_a_link_is_good_for_one_sign_in(alice: User) -> None:
    for _ in range(2):  # also twice within a second
        link = parts(sign_in_link(alice, "http://127.0.0.1:8000"))
        assert user_for_link(*link) == alice
        update_last_login(None, alice)
        assert user_for_link(*link) is None


def test_a_link_of_another_user_is_refused(alice: User) -> None:
    bob = User.objects.create_user("bob")
    token = parts(sign_in_link(bob, "http://x"))[1]
    assert user_for_link(parts(sign_in_link(alice, "http://x"))[0], token) is None


def test_a_link_of_a_locked_user_is_refused(alice: User) -> None:
    link = parts(sign_in_link(alice, "http://x"))
    alice.is_active = False
    alice.save()
    assert user_for_link(*link) is None


@pytest.mark.parametrize("uidb64", ["", "????", "OTk5OTk5", "w7w", "LTE", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5"])
def test_nonsense_is_refused(alice: User, uidb64: str) -> None:
    assert user_for_link(uidb64, parts(sign_in_link(alice, "http://x"))[1]) is None


def test_an_old_link_is_refused(alice: User, settings: Settings) -> None:
    link = parts(sign_in_link(alice, "http://x"))
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert user_for_link(*link) is None


def test_whose_link_is_old_is_told_where_a_new_one_comes_from() -> None:
    page = Client().get("/sign-in/link/MQ/old/", follow=True).content.decode()
    assert "This link has already been used or has expired." in page
    assert "until an administrator has a password, each start makes a new one." in " ".join(page.split())


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_link_at_once_one_is_signed_in(alice: User) -> None:
    link = sign_in_link(alice, "http://testserver")
    clients = Client(), Client()

    def use(client: Client) -> None:
        try:
            client.post(link)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool, psycopg.connect(conninfo()) as holder:
        holder.execute("SELECT FROM auth_user WHERE id = %s FOR UPDATE", [alice.pk])
        using = [pool.submit(use, client) for client in clients]
        until(lambda: holder.execute(WAITING).fetchone() == (2,))
        holder.rollback()
        for each in using:
            each.result()
    assert sum("_auth_user_id" in client.session for client in clients) == 1
