"""The page for creating keys."""

import re
from html import unescape

import pytest

from streamviz.records.models import ApiKey
from tests.dashboard.conftest import Cast, recorded

FIELDS = {"name": "Name", "models_scope": "Models", "default_provider": "Provider for other endpoints"}


def test_each_field_has_a_label_that_stays_when_it_is_filled_in(cast: Cast) -> None:
    page = cast["administrator"].get("/keys/").content.decode()
    for name, label in FIELDS.items():
        assert f'<label for="id_{name}">{label}</label>' in page


@pytest.mark.parametrize("field", FIELDS)
def test_what_cannot_be_kept_is_told_at_its_field(cast: Cast, field: str) -> None:
    page = cast["administrator"].post("/keys/", {"name": "bot", field: "a\0b"}).content.decode()
    assert re.search(f'id="id_{field}_error">[^<]+<', page)
    assert not ApiKey.objects.filter(name="bot").exists()


UNSEEN = "\u200b\xad\u2060\ufeff\U000e0041\n\u202e\u3164\u2800\u17b5\u180b\u180f\ufff9\U0001bca0\U0001d173"


@pytest.mark.parametrize("unseen", UNSEEN)
def test_what_cannot_be_seen_is_in_no_keys_name(cast: Cast, unseen: str) -> None:
    page = cast["administrator"].post("/keys/", {"name": f"night{unseen}run"}).content.decode()
    assert "cannot be seen" in page
    assert not ApiKey.objects.exists()


def test_a_key_may_have_a_name_in_any_script(cast: Cast) -> None:
    for name in ("شب\u200cکار", "👩\u200d💻 ci", "ночь №1"):
        cast["administrator"].post("/keys/", {"name": name})
        assert ApiKey.objects.filter(name=name).exists()


def test_a_key_leads_to_its_sessions(cast: Cast) -> None:
    key, _ = ApiKey.objects.issue("night run")
    recorded("by the key", key=key)
    recorded("by none")
    page = cast["administrator"].get("/keys/").content.decode()
    [href] = re.findall(r'class="row-link" href="([^"]+)"><b><bdi>night run', page)
    listed = cast["administrator"].get(unescape(href)).content.decode()
    assert "by the key" in listed
    assert "by none" not in listed
