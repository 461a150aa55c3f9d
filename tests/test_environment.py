import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver

from streamviz import environment
from streamviz.live.routing import websocket_urlpatterns
from streamviz.proxy.paths import VERSIONS
from streamviz.records.journal.folder import machine_id


@pytest.mark.parametrize(("word", "meant"), [("1", True), ("Yes", True), ("off", False), ("0", False), (" ", True)])
def test_a_flag_is_read(monkeypatch: pytest.MonkeyPatch, word: str, meant: bool) -> None:
    monkeypatch.setenv("FLAG", word)
    assert environment.flag("FLAG", default=True) is meant


@pytest.mark.parametrize("word", ["0", "65536", "-1", "http", "80.5", "²"])
def test_it_rejects_what_is_no_port(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("PORT", word)
    with pytest.raises(ImproperlyConfigured, match="PORT must be a port"):
        environment.port("PORT", 8000)


def test_it_rejects_a_flag_that_is_no_word_for_yes_or_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "maybe")
    with pytest.raises(ImproperlyConfigured, match="DEBUG must be 1 or 0"):
        environment.flag("DEBUG", default=False)


def test_words_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "a.example, b.example,")
    assert environment.words("ALLOWED_HOSTS") == ["a.example", "b.example"]


def test_a_secret_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"
    before = os.umask(0)
    try:
        secret = environment.kept_secret(path)
    finally:
        os.umask(before)
    assert len(secret) > 50
    assert environment.kept_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_processes_that_start_together_keep_the_same_secret(tmp_path: Path) -> None:
    for number in range(20):
        with ThreadPoolExecutor(4) as starting:
            found = set(starting.map(environment.kept_secret, [tmp_path / str(number) / "secret"] * 4))
        assert len(found) == 1
        assert len(found.pop()) > 50


def test_a_secret_is_kept_on_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    assert environment.kept_secret(tmp_path / "secret") == environment.kept_secret(tmp_path / "secret")
    assert machine_id(tmp_path / "journal") == machine_id(tmp_path / "journal")


def test_a_folder_that_cannot_be_used_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match=r"^VAR_DIR=.*/file cannot be used: File exists\.$"):
        environment.kept_secret(tmp_path / "file" / "secret")


def test_root_makes_no_secret_in_a_folder_whose_owner_could_not_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, 65534, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # who does not own this folder, whoever runs the tests
    with pytest.raises(
        ImproperlyConfigured, match=rf"VAR_DIR={tmp_path} belongs to another user, .* Run this as that user"
    ):
        environment.kept_secret(tmp_path / "secret_key")
    assert not any(tmp_path.iterdir())
    (tmp_path / "secret_key").write_text("made by its owner")
    assert environment.kept_secret(tmp_path / "secret_key") == "made by its owner"


def test_a_user_without_a_home_is_told_to_set_where_data_go(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # no user is known
    with pytest.raises(ImproperlyConfigured, match="VAR_DIR must be set"):
        environment.data_home()


@pytest.mark.parametrize(
    "name",
    [
        *("DATABASE_URI", "REDIS_URLS", "RETAIN_CHUNKS_DAYS", "STOP_GRACE_SECOND", "STROE_REQUESTS", "LOGLEVEL"),
        *("TRUSTED_PROXY", "METRIC_TOKEN", "VARDIR", "WORKER", "STREAMVIZ_PORT", "STREAMVIZ_LOG_LEVEL", "METRICSTOKEN"),
    ],
)
def test_a_misspelt_setting_is_refused_unless_the_right_one_is_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "8000")
    with pytest.raises(ImproperlyConfigured, match=f"{name} is not a setting; (.*) is") as refusal:
        environment.refuse_misspelt()
    monkeypatch.setenv(refusal.value.args[0].split()[5], "")
    environment.refuse_misspelt()


@pytest.mark.parametrize(
    ("name", "meant"), [("TRUSTED_PROXY", "TRUSTED_PROXIES"), ("WORKER", "WORKERS"), ("STREAMVIZ_PORT", "PORT")]
)
def test_what_is_misspelt_beside_the_right_one_is_told_of(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "3")
    monkeypatch.setenv(meant, "2")
    environment.refuse_misspelt()
    assert environment.misspelt_beside() == [f"{name} is not a setting, and does nothing; {meant} is, and is set."]
    monkeypatch.setenv(meant, "")  # as the message advises if the other belongs to another program
    assert environment.misspelt_beside() == []


def test_variables_of_other_programs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FOREIGN:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("STREAMVIZ_PORT", "tcp://10.0.0.1:80")  # set by Kubernetes
    environment.refuse_misspelt()


FOREIGN = (
    "HOSTNAME HOSTTYPE HOSTS PORTS HTTP HTTP_PROXY HTTPS_PROXY NO_PROXY HTTP_HOST DEBUGINFOD_URLS DEBUGGER TERM "
    "USER LOGNAME XDG_DATA_DIRS XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME OTEL_EXPORTER_OTLP_TRACES_ENDPOINT "
    "OTEL_RESOURCE_NAME POSTGRES_PASSWORD PGHOST PGDATABASE REDIS_PORT REDIS_HOST REDIS_PASSWORD "
    "REDIS_SERVICE_HOST STREAMVIZ_SERVICE_HOST STREAMVIZ_SERVICE_PORT STREAMVIZ_PORT_8000_TCP STREAMVIZ_KEY "
    "KUBERNETES_PORT OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_API_KEY LITELLM_LOG WEB_CONCURRENCY WORKER_ID "
    "MAX_WORKERS SECRET_KEY_BASE DJANGO_SECRET_KEY TMPDIR DATA_DIR LOG_DIR LOG_FILE LOG_FORMAT DATABASE_NAME "
    "DATABASE_HOST DATABASE_USER DATABASE_PORT DATABASE_PASSWORD JOURNAL_STREAM INVOCATION_ID STATE_DIRECTORY "
).split()


@pytest.mark.parametrize("word", ["0", "-1", "1.5", "all", "100000", "9" * 5000])
def test_a_number_of_workers_that_cannot_be_meant_is_refused(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("WORKERS", word)
    with pytest.raises(ImproperlyConfigured, match="WORKERS must be auto, or a number from 1 to 256"):
        environment.workers("WORKERS")


def test_workers_are_one_or_as_many_as_are_asked_for_or_as_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.workers("WORKERS") == 1
    monkeypatch.setenv("WORKERS", "3")
    assert environment.workers("WORKERS") == 3
    monkeypatch.setenv("WORKERS", "auto")
    assert 1 <= environment.workers("WORKERS") <= environment.MOST_WORKERS


@pytest.mark.parametrize("path", ["/api", "/v1/", "/static/x", "/streams"])
def test_a_base_path_is_none_of_our_own(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("BASE_PATH", path)
    with pytest.raises(ImproperlyConfigured, match="must not begin with a path of streamviz's own"):
        environment.base_path("BASE_PATH")


def test_our_own_paths_are_those_that_are_served() -> None:
    found: list[Any] = [*get_resolver().url_patterns, *websocket_urlpatterns]
    found += [inner for each in found if not str(each.pattern) for inner in getattr(each, "url_patterns", [])]
    served = {str(each.pattern).partition("/")[0] for each in found} - {""}
    served |= {version.strip("/") for version in VERSIONS}
    assert len(served) > 15
    assert served <= environment.OUR_PATHS


@pytest.mark.parametrize(
    "word", ["change-me-" * 4, "django-insecure-x8!k2m#v9q$w7e&r5t", "your_secret_key_goes_here_please"]
)
def test_a_placeholder_is_no_secret(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("SECRET_KEY", word)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is too weak"):
        environment.secret("SECRET_KEY", 32)
