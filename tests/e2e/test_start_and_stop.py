"""`manage.py up`, as `make run` runs it: what it creates, what it refuses, and that it leaves nothing behind."""

import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from django.contrib.auth.hashers import make_password

from tests.e2e.load import Load
from tests.e2e.proxied import until
from tests.services import Streamviz, clean_environment, copy_data

pytestmark = pytest.mark.slow

END_SECONDS = 120
MakeServer = Callable[..., Streamviz]


@pytest.fixture
def embedded() -> Iterator[Streamviz]:
    """A streamviz with its own Postgres, not started yet."""
    with tempfile.TemporaryDirectory(prefix="streamviz-test-") as folder:
        server = Streamviz(Path(folder) / "var", {})
        yield server
        server.stop()


def family(server: Streamviz) -> list[psutil.Process]:
    """The supervisor and all processes below it."""
    supervisor = psutil.Process(server.pid)
    return [supervisor, *supervisor.children(recursive=True)]


def assert_ended(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=END_SECONDS)
    assert alive == []


def assert_one_line(output: str, *parts: str) -> None:
    """Assert that the fault is reported in one line, the last, without a traceback."""
    assert "Traceback" not in output
    faults = [line for line in output.splitlines() if all(part in line for part in parts)]
    assert len(faults) == 1, output


def test_the_first_start_hands_out_a_link_and_a_key_and_later_ones_keep_them_after_a_kill_too(
    embedded: Streamviz,
) -> None:
    embedded.start()
    key, link, first = embedded.api_key, embedded.sign_in_link, family(embedded)
    assert key.startswith("sv-")
    assert link.startswith(f"{embedded.base_url}/sign-in/link/")
    assert key not in embedded.output(), "there is no terminal"
    assert link not in embedded.output()
    assert {"postgres", "streamviz.simulator", "serve"} <= roles(first)
    said = run_curl(embedded)
    assert said.startswith("data: {")
    assert said.rstrip().endswith("data: [DONE]")
    assert_nobody_else_starts_there(embedded)
    assert embedded.stop() == 0
    assert_ended(first)

    embedded.start()
    assert "first API key" not in embedded.output().rpartition("Starting Postgres")[2]
    assert "API keys are shown once" in embedded.output()
    assert embedded.sign_in_link, "the administrator has never signed in"
    assert embedded.api_key == key
    assert run_curl(embedded, STREAMVIZ_KEY=embedded.api_key).startswith("data: {")
    killed = family(embedded)
    ours = [each for each in killed if (its_words := words(each)) and "postgres" not in its_words]
    embedded.kill()
    assert_ended(ours)

    embedded.start()
    assert_ended(killed)
    assert embedded.api_key == key
    assert "Stopping the Postgres that an earlier run left behind" in embedded.output()


def assert_nobody_else_starts_there(first: Streamviz) -> None:
    status, output = Streamviz(first.var_dir, {}).fail_to_start()
    assert status == 1
    assert_one_line(output, "already running", f"process {first.pid}")


def roles(processes: list[psutil.Process]) -> set[str]:
    return {word for process in processes for word in words(process)}


def words(process: psutil.Process) -> list[str]:
    """A process's name and arguments; empty if it has just exited, as Postgres' connection processes often do."""
    try:
        return [process.name(), *process.cmdline()]
    except psutil.NoSuchProcess:
        return []


def run_curl(server: Streamviz, **environment: str) -> str:
    """Paste the printed curl line: the first reads the key from its file, later ones from the environment."""
    line = re.findall(r"curl -N .*", server.output())[-1]
    shell = clean_environment(**environment)
    pasted = subprocess.run(["sh", "-c", f"{line} --silent"], env=shell, capture_output=True, text=True)
    return pasted.stdout


def parts(server: Streamviz) -> dict[str, psutil.Process]:
    """The parts that are running, by name."""
    named = {"streamviz.simulator": "simulator", "write": "writer", "serve": "server"}
    told = [(each, words(each)) for each in family(server)]
    found = {name: each for each, said in told for word, name in named.items() if word in said}
    postgres = [each for each, said in told if said[:1] == ["postgres"] and "-D" in said]
    return found | ({"embedded Postgres": postgres[0]} if postgres else {})


def serves(server: Streamviz) -> bool:
    """Whether a call is answered completely."""
    load = Load(server.base_url, server.api_key, 1, "content?seed={seed}&speed=inf&chunks=3")
    return any(tape.is_whole for tape in load.once())


def test_what_dies_is_started_anew_and_streams_go_on_meanwhile(embedded: Streamviz, migrated_data: Path) -> None:
    embedded.var_dir.mkdir()
    copy_data(migrated_data, embedded.var_dir / "postgres")
    server = embedded.start()
    before = parts(server)
    assert set(before) == {"simulator", "writer", "server", "embedded Postgres"}
    # If the server or the simulator dies, so do its streams; other parts take none along.
    for name in ("writer", "embedded Postgres", "simulator", "server"):
        load = Load(server.base_url, server.api_key, 4).start()
        before[name].kill()
        server.wait_for(f"The {name} ended unexpectedly")
        server.wait_for(f"Restarted the {name}")
        tapes = load.finish()
        if name not in ("simulator", "server"):
            assert {(tape.status, tape.error, tape.is_whole) for tape in tapes} == {(200, "", True)}
        until(lambda: serves(server))
    after = parts(server)
    assert set(after) == set(before)
    assert all(after[name].pid != before[name].pid for name in before)
    assert server.stop() == 0
    assert "Traceback" not in server.output()


def test_a_demonstration_is_refused_nothing(make_server: MakeServer, database_url: str) -> None:
    server = make_server()
    server.verb = "demo"
    server.start()
    with psycopg.connect(database_url, autocommit=True) as connection:
        until(lambda: connection.execute("SELECT 1 FROM records_stream").fetchone())
    assert "refused" not in server.output()


@pytest.mark.parametrize("variable", ["PORT", "SIMULATOR_PORT"])
def test_a_port_in_use_is_one_line(embedded: Streamviz, variable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        embedded.environment[variable] = str(port)
        status, output = embedded.fail_to_start()
    assert status == 1
    assert_one_line(output, f"Port {port} on 127.0.0.1 is in use", f"Set {variable}")
    assert not (embedded.var_dir / "postgres").exists(), "nothing was started first"


@pytest.mark.parametrize(
    ("url", "line", "status"),
    [
        ("postgresql://ann:hunter2@127.0.0.1:1/records", "Cannot use the database at 127.0.0.1:1/records", 1),
        ("postgresql://ann:hunter2@no-such-host.invalid/records", "Cannot use the database at no-such-host.invalid", 1),
        ("nonsense", "DATABASE_URL must look like", os.EX_CONFIG),
    ],
)
def test_a_broken_database_url_is_one_line(tmp_path: Path, url: str, line: str, status: int) -> None:
    ended, output = Streamviz(tmp_path, {"DATABASE_URL": url}).fail_to_start()
    assert ended == status
    assert_one_line(output, line)
    assert "hunter2" not in output


def test_a_database_that_is_not_there_is_one_line(database_url: str, tmp_path: Path) -> None:
    url = re.sub(r"streamviz_test_\w+", "missing", database_url)
    status, output = Streamviz(tmp_path, {"DATABASE_URL": url}).fail_to_start()
    assert status == 1
    assert_one_line(output, "Cannot use the database", 'database "missing" does not exist')


def test_a_public_server_without_a_password_is_refused(make_server: MakeServer, database_url: str) -> None:
    public = {"HOST": "0.0.0.0", "SECRET_KEY": "long and random " * 3}
    server = make_server(**public)
    status, output = server.fail_to_start()
    assert status == os.EX_CONFIG
    assert_one_line(output, "no administrator has a password")

    with psycopg.connect(database_url) as connection:
        set_password = "UPDATE auth_user SET password = %s WHERE username = 'admin'"
        connection.execute(set_password, [make_password("a long password")])
    server.start()
    assert not server.sign_in_link, "the administrator has a password to sign in with"


def test_ctrl_c_in_the_middle_of_starting_leaves_nothing(embedded: Streamviz) -> None:
    program = embedded.begin()
    program.wait_for("Preparing the database")
    processes = family(embedded)
    assert embedded.stop() == 0
    assert_ended(processes)
    assert "Traceback" not in embedded.output()
