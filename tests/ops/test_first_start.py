"""The first API key, and where it is written."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User, update_last_login

from streamviz.faults import Fault
from streamviz.ops.first_start import ensure_administrator, issue_first_key, link_if_needed
from streamviz.records.models import ApiKey
from streamviz.records.models.access import digest

pytestmark = pytest.mark.django_db


def test_the_first_key_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "first_key"
    made = issue_first_key(file)
    assert made is not None
    assert ApiKey.objects.get().digest == digest(file.read_text().strip())
    assert issue_first_key(file) is None


URL = "http://127.0.0.1:8000"


def test_each_start_has_a_link_until_an_administrator_has_a_password(tmp_path: Path) -> None:
    file = tmp_path / "sign_in_link"
    admin = ensure_administrator()
    for _ in range(2):
        assert link_if_needed(admin, URL, file) is not None
        update_last_login(None, admin)
    assert file.exists()
    User.objects.create_user("bob", password="of no use here")
    User.objects.create_superuser("carol", password="left long ago", is_active=False)
    assert link_if_needed(admin, URL, file) is not None
    User.objects.create_superuser("alice", password="long and random")
    assert link_if_needed(admin, URL, file) is None
    assert not file.exists()


def test_no_first_key_is_made_where_nobody_could_read_it(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="cannot be written to"):
        issue_first_key(tmp_path / "missing" / "first_key")
    assert not ApiKey.objects.exists()


def test_a_link_that_cannot_be_written_keeps_nothing_from_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "missing" / "sign_in_link"
    assert link_if_needed(ensure_administrator(), URL, file) is None
    said = f"streamviz: The sign-in link cannot be written to {file}: No such file or directory."
    assert capsys.readouterr().out.startswith(said)
