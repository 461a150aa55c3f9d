"""What the settings refuse, as seen by the person who starts streamviz."""

import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http.request import validate_host

from streamviz import environment
from streamviz.version import version
from tests.services import ROOT, clean_environment, free_port, fresh_database

SHOW = """
import json, django.conf
settings = django.conf.settings
names = ["DEBUG", "HOST", "PORT", "PUBLIC", "SESSION_COOKIE_SECURE", "ALLOWED_HOSTS", "EMBEDDED_POSTGRES", "SECRET_KEY"]
print(json.dumps({name: getattr(settings, name) for name in names} | {"layer": settings.CHANNEL_LAYERS["default"]}))
"""

UNASKED = "postgresql://nobody@127.0.0.1:1/none"
BUCKET = "s3://records/ours"


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {"DJANGO_SETTINGS_MODULE": "streamviz.settings", **environment}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=clean_environment(**settings), capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"HOST": "0.0.0.0"}, "SECRET_KEY must be set"),
        ({"HOST": "0.0.0.0", "DEBUG": "1"}, "DEBUG must be off"),
        ({"DEBUG": "perhaps"}, "DEBUG must be 1 or 0"),
        ({"PORT": "eighty"}, "PORT must be a port"),
        ({"HOST": "http://localhost"}, "HOST must be an address or a name"),
        ({"HOST": "localhost:8000"}, "HOST must be an address or a name"),
        ({"HOST": "[::1]"}, "HOST must be an address or a name"),
        ({"HOST": "*"}, "HOST must be an address or a name"),
        ({"MAX_BLOCKS": "0"}, "MAX_BLOCKS must be a whole number of at least 1, not '0'."),
        ({"MAX_EVENTS": "0"}, "MAX_EVENTS must be a whole number of at least 1"),
        ({"MAX_VALUES": "0"}, "MAX_VALUES must be a whole number of at least 1"),
        ({"POLICY_PROCESSES": "0"}, "POLICY_PROCESSES must be a whole number of at least 1"),
        ({"POLICY_MEMORY_MB": "63"}, "POLICY_MEMORY_MB must be a whole number of at least 64"),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, not 'loud'."),
        ({"JOURNAL_FULL": "drop"}, "JOURNAL_FULL must be one of refuse, unrecorded, not 'drop'."),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT must be one of text, json, not 'xml'."),
        ({"WOKRERS": "2", "SECRET_KY": "hunter2"}, "SECRET_KY is not a setting; SECRET_KEY is."),
        ({"STREAMVIZ_WORKERS": "2"}, "STREAMVIZ_WORKERS is not a setting; WORKERS is."),
        ({"HOST": "0.0.0.0", "SECRET_KEY": "hunter2"}, "SECRET_KEY is too weak"),
        ({"METRICS_TOKEN": "hunter2"}, "METRICS_TOKEN is too weak"),
        ({"RETAIN_STREAM_DAYS": "999999"}, "RETAIN_STREAM_DAYS must be at most 36500 days"),
        ({"RETAIN_CHUNK_DAYS": "9" * 5000}, "RETAIN_CHUNK_DAYS must be a whole number"),
        ({"ARCHIVE_URL": BUCKET, "RETAIN_CHUNK_DAYS": "0", "ARCHIVE_AFTER_DAYS": "999999"}, "AFTER_DAYS must be"),
        ({"ALLOWED_HOSTS": "viz.example,https://viz.example"}, "ALLOWED_HOSTS must be names"),
        ({"ALLOWED_HOSTS": "viz.example:8000"}, "ALLOWED_HOSTS must be names"),
        ({"CSRF_TRUSTED_ORIGINS": "viz.example"}, "CSRF_TRUSTED_ORIGINS must be origins"),
        ({"CSRF_TRUSTED_ORIGINS": "https://viz.example/streamviz"}, "CSRF_TRUSTED_ORIGINS must be origins"),
        ({"CORS_ORIGINS": "app.example"}, "CORS_ORIGINS must be origins"),
        ({"CORS_ORIGINS": "https://*.app.example"}, "CORS_ORIGINS must be origins"),
        ({"REDIS_URL": "http://ann:hunter2@redis"}, "REDIS_URL must look like"),
        ({"REDIS_URL": "redis:/ann:hunter2@redis"}, "REDIS_URL must look like"),
        ({"REDIS_URL": "redis://:hunter2@redis:port/0"}, "REDIS_URL must look like"),
        ({"SIMULATOR_URL": "localhost:8001"}, "SIMULATOR_URL must look like"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "ann:hunter2@c:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT must look like"),
        ({"ARCHIVE_UR": "s3://records"}, "ARCHIVE_UR is not a setting; ARCHIVE_URL is."),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf, not"),
        ({"DATABASE_URL": "postgres//ann:hunter2@db/records"}, "DATABASE_URL must look like"),
        ({"DATABASE_REPLICA_URL": "postgres//ann:hunter2@db/records"}, "DATABASE_REPLICA_URL must look like"),
        ({"DATABASE_REPLICA_URL": "postgresql://ann:hunter2@db/records"}, "DATABASE_REPLICA_URL needs a DATABASE_URL"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment: dict[str, str], line: str
) -> None:
    monkeypatch.setattr(os, "environ", clean_environment(VAR_DIR=str(tmp_path), **environment))
    with pytest.raises(ImproperlyConfigured) as refused:
        run_path(str(ROOT / "streamviz" / "settings.py"))
    [said] = str(refused.value).splitlines()
    assert line in said
    assert "hunter2" not in said


def test_origins_are_read_as_browsers_write_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {"CSRF_TRUSTED_ORIGINS": "https://Viz.example/, https://*.inner.example", "CORS_ORIGINS": "*,app://desk/"}
    monkeypatch.setattr(os, "environ", clean_environment(VAR_DIR=str(tmp_path), **given))
    read = run_path(str(ROOT / "streamviz" / "settings.py"))
    assert read["CSRF_TRUSTED_ORIGINS"] == ["https://viz.example", "https://*.inner.example"]
    assert read["CORS_ORIGINS"] == {"*", "app://desk"}


def test_a_server_answers_at_its_own_address_of_ipv6(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {"HOST": "fd00::5", "SECRET_KEY": secrets.token_hex(32)}
    monkeypatch.setattr(os, "environ", clean_environment(VAR_DIR=str(tmp_path), **given))
    read = run_path(str(ROOT / "streamviz" / "settings.py"))
    assert validate_host("[fd00::5]", read["ALLOWED_HOSTS"])


def test_the_readme_has_a_row_for_each_setting_and_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        os, "environ", clean_environment(VAR_DIR=str(tmp_path), DATABASE_URL=UNASKED, ARCHIVE_URL=BUCKET)
    )
    monkeypatch.setattr(environment, "_asked", asked := set[str]())
    run_path(str(ROOT / "streamviz" / "settings.py"))
    rows = [row.split("|")[1] for row in (ROOT / "README.md").read_text().splitlines() if row.startswith("| `")]
    named = set(re.findall(r"`([A-Z_]+)`", "".join(rows)))
    # Set by `serve` for the servers that it starts, or belonging to other programs.
    others = {name for name in asked if name.startswith(("STREAMVIZ_", "XDG_"))}
    assert named == asked - others


def test_the_readme_has_a_row_for_each_command() -> None:
    table = (ROOT / "README.md").read_text().partition("## Commands\n")[2].partition("\n## ")[0]
    rows = " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("|"))
    files = (ROOT / "streamviz" / "ops" / "management" / "commands").glob("[a-z]*.py")
    commands = {file.stem for file in files} - {"screens"}  # which a server starts by itself
    assert commands <= set(re.findall(r"`(\w+)", rows))


@pytest.mark.integration
@pytest.mark.parametrize("command", ["up", "serve"])
def test_a_command_ends_with_that_line(tmp_path: Path, command: str) -> None:
    refused = run(["manage.py", command], VAR_DIR=str(tmp_path), DATABASE_URL="postgres//ann:hunter2@db/records")
    assert refused.returncode == os.EX_CONFIG  # tells systemd that a restart would not help
    assert refused.stdout == ""
    [line] = refused.stderr.splitlines()
    assert line.startswith("streamviz: DATABASE_URL must look like")
    assert "hunter2" not in line


@pytest.mark.integration
def test_on_this_machine_alone_nothing_need_be_set(tmp_path: Path) -> None:
    shown = json.loads(run(["-c", SHOW], VAR_DIR=str(tmp_path)).stdout)
    assert shown["DEBUG"] is False
    assert shown["PUBLIC"] is False
    assert shown["EMBEDDED_POSTGRES"] is True
    assert shown["SESSION_COOKIE_SECURE"] is False
    assert shown["SECRET_KEY"] == (tmp_path / "secret_key").read_text()
    assert shown["layer"] == {"BACKEND": "channels.layers.InMemoryChannelLayer"}


@pytest.mark.integration
def test_a_public_server_is_strict(tmp_path: Path) -> None:
    shown = json.loads(
        run(
            ["-c", SHOW],
            VAR_DIR=str(tmp_path),
            HOST="0.0.0.0",
            SECRET_KEY="long and random " * 3,
            ALLOWED_HOSTS="viz.example",
            REDIS_URL="redis://redis:6379/0",
            DATABASE_URL="postgresql://ann@db/records",
        ).stdout
    )
    assert shown["DEBUG"] is False
    assert shown["PUBLIC"] is True
    assert shown["EMBEDDED_POSTGRES"] is False
    assert shown["SESSION_COOKIE_SECURE"] is True
    assert shown["ALLOWED_HOSTS"] == ["viz.example"]
    assert shown["layer"]["BACKEND"] == "channels_redis.pubsub.RedisPubSubChannelLayer"
    assert not (tmp_path / "secret_key").exists()


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("command", ["up", "serve", "write"])
def test_a_folder_that_cannot_be_used_is_one_line(tmp_path: Path, command: str) -> None:
    (tmp_path / "file").touch()
    refused = run(["manage.py", command], VAR_DIR=str(tmp_path / "file"), SECRET_KEY="long and random " * 3)
    assert refused.returncode == 1
    assert refused.stderr == f"streamviz: VAR_DIR={tmp_path / 'file'} cannot be used: File exists.\n"


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("command", [["migrate"], ["key", "list"], ["verify"], ["createsuperuser"]])
def test_where_the_embedded_postgres_does_not_run_a_command_says_what_runs_it(
    tmp_path: Path, command: list[str]
) -> None:
    refused = run(["manage.py", *command], VAR_DIR=str(tmp_path))
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert line.startswith("streamviz: DATABASE_URL is unset, and the embedded Postgres does not answer: ")
    assert line.endswith(
        " It runs while `python manage.py up` does: start that first, or set VAR_DIR to the folder that it runs in."
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", [["verify"], ["export", "--days", "1"], ["retention"], ["key", "list"]])
def test_a_database_without_tables_is_one_line(tmp_path: Path, postgres: dict[str, Any], command: list[str]) -> None:
    with fresh_database(postgres) as url:
        refused = run(["manage.py", *command], VAR_DIR=str(tmp_path), DATABASE_URL=url)
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert re.search(r'Cannot use the database at .*: relation "\w+" does not exist\. Run `.* migrate`', line)


@pytest.mark.slow
def test_a_new_database_of_another_role_is_one_line(tmp_path: Path, postgres: dict[str, Any]) -> None:
    role = f"streamviz_test_{secrets.token_hex(4)}"
    with fresh_database(postgres) as url, psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        try:
            theirs = re.sub("//[^@]*@", f"//{role}@", url)
            refused = run(["manage.py", "migrate", "--verbosity=0"], VAR_DIR=str(tmp_path), DATABASE_URL=theirs)
        finally:
            owner.execute(f"DROP ROLE {role}")
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert ": permission denied for schema public. The role in DATABASE_URL is to own the database and" in line


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_cannot_start_says_so_in_one_line_whoever_started_it(
    tmp_path: Path, postgres: dict[str, Any], workers: str
) -> None:
    with fresh_database(postgres) as url:
        own = {"VAR_DIR": str(tmp_path), "DATABASE_URL": url, "PORT": str(free_port()), "WORKERS": workers}
        refused = run(["manage.py", "serve"], **own)
    assert refused.returncode == 1
    lines = refused.stderr.splitlines()
    assert "does not exist. Run `" in lines[0]
    assert all(line.startswith("streamviz: ") for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["verify"], ["export", "--days", "1"], ["retention"], ["key", "list"]])
def test_tables_of_another_role_are_one_line(tmp_path: Path, database_url: str, command: list[str]) -> None:
    role = f"streamviz_test_{secrets.token_hex(4)}"
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        try:
            theirs = re.sub("//[^@]*@", f"//{role}@", database_url)
            refused = run(["manage.py", *command], VAR_DIR=str(tmp_path), DATABASE_URL=theirs)
        finally:
            owner.execute(f"DROP ROLE {role}")
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert re.search(r"Cannot use the database at .*: permission denied for table \w+\. The role in DATABASE_URL", line)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("command", [["migrate"], ["key", "list"], ["verify"]])
def test_a_database_that_cannot_be_reached_is_one_line_for_every_command(tmp_path: Path, command: list[str]) -> None:
    url = "postgresql://ann:hunter2@127.0.0.1:1/records"
    refused = run(["manage.py", *command], VAR_DIR=str(tmp_path), DATABASE_URL=url)
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert line.startswith("streamviz: Cannot use the database at 127.0.0.1:1/records: ")
    assert "hunter2" not in line


@pytest.mark.integration
def test_the_version_is_ours() -> None:
    assert run(["manage.py", "--version"]).stdout == f"streamviz {version()}\n"


@pytest.mark.integration
def test_djangos_own_server_is_not_started_in_place_of_ours(tmp_path: Path) -> None:
    refused = run(["manage.py", "runserver"], VAR_DIR=str(tmp_path), DATABASE_URL=UNASKED)
    assert (refused.returncode, refused.stdout) == (1, "")
    [line] = refused.stderr.splitlines()
    assert line.startswith("streamviz: `runserver` is Django's")


@pytest.mark.integration
def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "django").mkdir()
    (tmp_path / "django" / "__init__.py").write_text("raise ModuleNotFoundError(name='django')")
    refused = run(["manage.py", "up"], PYTHONPATH=str(tmp_path))
    assert refused.returncode == 1
    assert refused.stderr == "streamviz: the Python package 'django' is not installed. Run `make install`.\n"


@pytest.mark.integration
def test_another_python_than_the_clones_hands_over_to_it(tmp_path: Path) -> None:
    for part in ("streamviz/__init__.py", "streamviz/__main__.py", "manage.py"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_text((ROOT / part).read_text())
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nshift\necho "$@"\n')
    python.chmod(0o755)
    other = [sys.executable, "-S", "manage.py", "key", "list"]  # -S: a Python without packages
    assert subprocess.run(other, cwd=tmp_path, capture_output=True, text=True).stdout == "key list\n"


@pytest.mark.integration
def test_a_collector_without_its_packages_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").touch()  # an incomplete installation
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "PYTHONPATH": str(tmp_path), "VAR_DIR": str(tmp_path)}
    refused = run(["manage.py", "up"], **told)
    assert refused.returncode == os.EX_CONFIG
    [line] = refused.stderr.splitlines()
    said = f"OpenTelemetry is not installed: {sys.executable} -m pip install opentelemetry-exporter-otlp-proto-http"
    assert line.endswith(said)


def test_nobody_is_told_to_install_us_by_name() -> None:
    # The package index has another project under that name.
    written = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("streamviz/**/*.py"), ROOT / "Makefile"]
    by_name = re.compile(r"""pip install (?:-\S+ )*['"]?streamviz\b""")
    assert not [path for path in written if by_name.search(" ".join(path.read_text().split()))]


@pytest.mark.integration
@pytest.mark.slow
def test_djangos_check_of_a_public_server_finds_nothing(tmp_path: Path) -> None:
    checked = run(
        ["manage.py", "check", "--deploy", "--fail-level", "INFO"],
        VAR_DIR=str(tmp_path),
        HOST="0.0.0.0",
        SECRET_KEY=secrets.token_hex(32),
        ALLOWED_HOSTS="streams.example.com",
        HTTPS="1",
        TRUSTED_PROXIES="10.0.0.0/8",
        DATABASE_URL="postgresql://streamviz:secret@db:5432/streamviz",
        REDIS_URL="redis://redis:6379/0",
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.startswith("System check identified no issues")
