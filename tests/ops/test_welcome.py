import json
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django import Settings

from streamviz.ops.handing_over import HandedOver, hand_over
from streamviz.ops.welcome import curl_line, show_first_key, welcome
from streamviz.records.models import Route

pytestmark = pytest.mark.django_db
URL = "http://127.0.0.1:8000"


def test_the_curl_line_is_one_shell_command() -> None:
    words = shlex.split(curl_line(URL, HandedOver("sv-it's", None)))
    assert words[:3] == ["curl", "-N", "http://127.0.0.1:8000/v1/chat/completions"]
    assert "Authorization: Bearer sv-it's" in words
    assert json.loads(words[-1])["model"].startswith("sim/")


def test_without_a_key_the_curl_line_takes_it_from_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    welcome(URL, URL, None, None)
    said = capsys.readouterr().out
    assert "$STREAMVIZ_KEY" in said
    assert "http://127.0.0.1:8000/keys/" in said
    assert "sign-in" not in said


def test_pages_are_where_browsers_find_them_and_calls_where_this_machine_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    welcome(URL, "https://viz.example", None, None)
    said = capsys.readouterr().out
    assert "Running at https://viz.example/\n" in said  # and nothing about Ctrl-C, which makes no sense in a log
    assert "https://viz.example/keys/" in said
    assert f"curl -N {URL}/v1/" in said


def test_it_says_whose_models_can_be_called(
    bare_environment: pytest.MonkeyPatch, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> str:
        welcome(URL, URL, None, None)
        return capsys.readouterr().out

    assert "No provider's credential is set: set one, such as OPENAI_API_KEY, and start again" in said()
    settings.CLIENT_CREDENTIALS = True
    assert "Providers with a credential: none; clients send their own.\n" in said()
    bare_environment.setenv("GROQ_API_KEY", "gsk-secret")
    bare_environment.setenv("OLLAMA_API_BASE", "http://127.0.0.1:11434")
    assert "Providers with a credential: groq, ollama, ollama_chat; clients send their own.\n" in said()


def test_it_mentions_routes_with_a_credential_or_an_address_that_needs_none(
    bare_environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(**route: str) -> str:
        Route.objects.all().delete()
        Route(name="fast", target="openai/gpt-4.1", **route).save()
        welcome(URL, URL, None, None)
        return capsys.readouterr().out

    bare_environment.setenv("OUR_TOKEN_HERE", "sk-secret")
    assert "Providers with a credential: none; routes have theirs.\n" in said(credential="OUR_TOKEN_HERE")
    assert "Providers with a credential: none; routes have theirs.\n" in said(base_url="http://127.0.0.1:11434/v1")
    assert "No provider's credential is set" in said(credential="NOT_SET_TOKEN")
    assert "No provider's credential is set" in said()


def test_a_terminal_shows_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    key, link = (hand_over(secret, tmp_path / "file") for secret in ("sv-secret", f"{URL}/sign-in/link/"))
    show_first_key(key)
    welcome(URL, URL, link, key)
    said = capsys.readouterr().out
    assert "(Ctrl-C stops it)" in said
    assert "won't be shown again: sv-secret" in said
    assert f"{URL}/sign-in/link/" in said
    assert list(tmp_path.iterdir()) == []


def test_a_log_gets_none_of_them_but_where_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    (folder / "key").write_text("an older one")
    key, link = (hand_over(f"sv-{name}", folder / name) for name in ("key", "link"))
    show_first_key(key)
    welcome(URL, URL, link, key)
    said = capsys.readouterr().out
    assert "sv-" not in said
    assert str(folder / "link") in said
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    assert sorted(folder.iterdir()) == [folder / "key", folder / "link"]
    echoed = subprocess.run(
        ["sh", "-c", curl_line(URL, key).replace("curl -N", "echo")], capture_output=True, text=True
    )
    assert "Authorization: Bearer sv-key" in echoed.stdout
