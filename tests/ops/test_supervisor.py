"""The address that the supervisor prints, what it refuses to start with, and what stops it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import Error
from pytest_django import Settings

from streamviz.faults import Fault
from streamviz.ops.supervisor import STOP_SIGNALS, pages_url, run, stoppable
from tests.services import ROOT, clean_environment


@pytest.mark.parametrize(
    ("origins", "path", "url"),
    [
        ([], "", "http://127.0.0.1:8000"),
        ([], "/viz", "http://127.0.0.1:8000/viz"),
        (["https://viz.example", "https://other.example"], "", "https://viz.example"),
        (["https://*.example", "https://tools.example:8443"], "/viz", "https://tools.example:8443/viz"),
    ],
)
def test_a_sign_in_link_has_the_name_by_which_browsers_come(
    settings: Settings, origins: list[str], path: str, url: str
) -> None:
    settings.HOST, settings.PORT = "127.0.0.1", 8000
    settings.CSRF_TRUSTED_ORIGINS, settings.BASE_PATH = origins, path
    assert pages_url() == url


def test_the_simulator_cannot_have_the_servers_port(settings: Settings, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings.HOST, settings.VAR_DIR = "127.0.0.1", tmp_path
        settings.PORT = settings.SIMULATOR_PORT = taken.getsockname()[1]
        with pytest.raises(Fault, match="PORT and SIMULATOR_PORT"):
            run()


def test_a_clients_base_url_is_not_taken_for_a_providers(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.HOST, settings.VAR_DIR = "127.0.0.1", tmp_path
    settings.PORT = settings.SIMULATOR_PORT = 8000  # with which it starts nothing
    own = {"ANTHROPIC_BASE_URL": "http://localhost:8000", "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}
    others = {"OLLAMA_API_BASE": "http://localhost:11434", "XAI_API_BASE": "http://[", "GROQ_API_BASE": "https://g/v1"}
    for name, url in {**own, **others}.items():
        monkeypatch.setenv(name, url)
    with pytest.raises(Fault, match="PORT and SIMULATOR_PORT"):
        run()
    assert [name for name in (*own, *others) if name in os.environ] == [*others]
    said = capsys.readouterr().out
    assert all(f"{name} is this server's own address" in said for name in own)


def test_another_server_of_this_machine_may_have_the_same_port(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.HOST, settings.VAR_DIR = "192.0.2.7", tmp_path
    settings.PORT = settings.SIMULATOR_PORT = 8000
    urls = {"HOSTED_VLLM_API_BASE": "http://localhost:8000/v1", "OPENAI_BASE_URL": "http://192.0.2.7:8000/v1"}
    for name, url in urls.items():
        monkeypatch.setenv(name, url)
    with pytest.raises(Fault, match="PORT and SIMULATOR_PORT"):
        run()
    assert [name for name in urls if name in os.environ] == ["HOSTED_VLLM_API_BASE"]


@pytest.fixture
def hangup() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup")
def test_what_nohup_started_goes_on_when_its_terminal_is_gone() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    told: list[str] = []
    with stoppable(told.append):
        os.kill(os.getpid(), signal.SIGHUP)
        told.append("goes on")
    assert told == ["goes on"]
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_stops_it(number: signal.Signals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    told: list[str] = []
    with stoppable(told.append):
        os.kill(os.getpid(), number)
        told.append("goes on")
    assert told == ["Stopping", "Stopped; nothing is left running"]


@pytest.mark.parametrize("error", [Error("busy"), psycopg.OperationalError("busy")], ids=["Django", "psycopg"])
def test_a_query_that_a_signal_interrupts_may_fail_in_its_place(error: Exception) -> None:
    told: list[str] = []
    with stoppable(told.append):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise error from None
    assert told == ["Stopping", "Stopped; nothing is left running"]
    with pytest.raises(type(error)), stoppable(told.append):
        raise error


@pytest.mark.integration
def test_it_has_ended_well_whatever_python_was_doing_when_it_was_stopped() -> None:
    """Python exits as if nobody had caught a KeyboardInterrupt that code from a string let through."""
    script = """
import django
from streamviz import __main__
django.setup()
from streamviz.ops.supervisor import stoppable

def run():
    with stoppable(print):
        exec("import os, signal; os.kill(os.getpid(), signal.SIGINT); print('goes on')")

__main__._run = run
__main__.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=clean_environment(DJANGO_SETTINGS_MODULE="streamviz.settings"),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "Stopping\nStopped; nothing is left running\n"), done.stderr
