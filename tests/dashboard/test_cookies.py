"""Invalid session cookies."""

import pytest
from django.test import Client

from streamviz.dashboard.cookies import SessionStore


@pytest.mark.parametrize("key", ["\x00" * 32, "../" * 20, "A" * 32, "a" * 31, "\ud800" * 32])
def test_a_text_that_is_no_key_is_not_looked_up(key: str) -> None:
    assert SessionStore(key).session_key is None


@pytest.mark.django_db
def test_a_page_takes_it_for_a_strangers() -> None:
    client = Client(headers={"cookie": 'sessionid="' + "\\000" * 32 + '"'})
    assert client.get("/").status_code == 302


@pytest.mark.django_db
def test_what_has_expired_is_deleted_with_the_next_sign_in() -> None:
    expired, lasting = SessionStore(), SessionStore()
    expired.set_expiry(-1)
    for each in (lasting, expired, SessionStore()):
        each.create()
    assert (lasting.exists(lasting.session_key), expired.exists(expired.session_key)) == (True, False)
