"""`manage.py key`: creating keys with a command, and where their secrets go."""

import io
import stat
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from streamviz.records.models import ApiKey
from streamviz.records.models.access import digest

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("key", *arguments, stdout=out)
    return out.getvalue()


def test_a_key_is_written_to_a_file_that_its_owner_alone_can_read(tmp_path: Path) -> None:
    file = tmp_path / "laptop"
    told = said("create", "laptop", "--models", "gpt-*", "--provider", "openai", "--file", str(file))
    secret = file.read_text().strip()
    assert secret not in told
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = ApiKey.objects.get(digest=digest(secret))
    assert (key.name, key.models_scope, key.default_provider) == ("laptop", "gpt-*", "openai")


def test_a_terminal_shows_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    secret = said("create", "laptop").split()[0]
    assert ApiKey.objects.get(digest=digest(secret)).name == "laptop"


def test_without_a_terminal_or_a_file_no_key_is_made() -> None:
    with pytest.raises(CommandError, match="--file"):
        said("create", "laptop")
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("name", ["here", "missing/here"])
def test_no_key_is_made_where_the_file_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "here").write_text("precious")
    with pytest.raises(CommandError, match=name):
        said("create", "laptop", "--file", str(tmp_path / name))
    assert (tmp_path / "here").read_text() == "precious"
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["laptop"], "Name: There is a key of this name"),
        ([""], "Name: This field is required"),
        (["other", "--provider", "nobody"], "Provider for other endpoints: There is no provider or route"),
        (["one, two"], "not contain a comma"),
    ],
)
def test_what_the_keys_page_would_refuse_is_refused(tmp_path: Path, arguments: list[str], why: str) -> None:
    ApiKey.objects.issue("laptop")
    with pytest.raises(CommandError, match=why):
        said("create", *arguments, "--file", str(tmp_path / "key"))
    assert not (tmp_path / "key").exists()


def test_keys_are_listed_without_their_secrets_and_revoked_by_name() -> None:
    key, secret = ApiKey.objects.issue("laptop", None, "gpt-*")
    listed = said("list")
    assert secret not in listed
    assert listed.split("\t")[:3] == ["laptop", f"{key.prefix}…", "active"]
    assert "laptop" in said("revoke", "laptop")
    assert "\trevoked " in said("list")
    with pytest.raises(CommandError, match="no key named laptap"):
        said("revoke", "laptap")
