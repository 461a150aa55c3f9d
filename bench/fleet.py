"""Two machines with three servers behind nginx and everything they need, stopped when the block ends."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil

from streamviz.ops.embedded_postgres import DATABASE, USER, EmbeddedPostgres, socket_dir
from streamviz.ops.system_account import needed_account
from tests.e2e.machine import Machine
from tests.e2e.proxied import until
from tests.services import ROOT, Program, Redis, free_port

GRACE_SECONDS = 20


@contextmanager
def running(commit: str) -> Iterator["Fleet"]:
    """Run the code of this checkout, or of `commit` if one is given."""
    folder = Path(tempfile.mkdtemp(prefix="streamviz-bench-"))
    folder.chmod(0o755)  # PgBouncer runs as another user
    try:
        with ExitStack() as stack:
            root = stack.enter_context(_checkout(folder / "before", commit)) if commit else ROOT
            yield Fleet(stack, folder, root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _checkout(folder: Path, commit: str) -> Iterator[Path]:
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


class Fleet:
    """All the processes of the deployment."""

    def __init__(self, stack: ExitStack, folder: Path, root: Path) -> None:
        self.redis = stack.enter_context(Redis(_program("redis-server")))
        self.postgres = EmbeddedPostgres(folder / "postgres")
        self.postgres.start()
        stack.callback(self.postgres.stop)
        self._bouncer_file, port = folder / "pgbouncer.ini", free_port()
        self._bouncer_file.write_text(_bouncer(self.postgres.data, port))
        self.start_bouncer()
        stack.callback(self.stop_bouncer)
        simulator = free_port()
        program = Program([sys.executable, "-m", "streamviz.simulator", "--port", str(simulator)], os.environ)
        stack.callback(program.process.kill)
        program.wait_for("listening")
        url = f"postgresql://{USER}@127.0.0.1:{port}/{DATABASE}"
        self.machines = [
            self._machine(folder / name, url, simulator, workers) for name, workers in (("a", 2), ("b", 1))
        ]
        first, second = self.machines
        first.root = second.root = root
        first.manage("migrate")
        first.prepare()
        second.key = first.key
        for machine in self.machines:
            stack.callback(machine.stop)
            machine.start_writer()
            self.start_server(machine)
        self.url = stack.enter_context(_nginx(folder, [machine.port for machine in self.machines]))

    def _machine(self, folder: Path, url: str, simulator: int, servers: int) -> Machine:
        settings = {"REDIS_URL": self.redis.url, "SECRET_KEY": "of the fleet, and long " * 3, "WORKERS": str(servers)}
        proxy = {"HTTPS": "1", "TRUSTED_PROXIES": "127.0.0.1", "STOP_GRACE_SECONDS": str(GRACE_SECONDS)}
        return Machine(folder, url, simulator, **settings, **proxy, LOG_LEVEL="INFO", DATABASE_POOL="4")

    def start_server(self, machine: Machine) -> None:
        """Start the server and wait until all of its worker processes accept requests."""
        machine.start_server()
        until(lambda: len(servers(machine)) == int(machine.environment["WORKERS"]), 60)
        until(lambda: state(machine) != "", 60)

    def restart(self, machine: Machine) -> None:
        assert machine.server
        machine.server.process.send_signal(signal.SIGTERM)
        machine.server.wait()
        self.start_server(machine)

    def upgrade(self, machine: Machine) -> None:
        """Restart the machine on this checkout's code. The writer goes first: it can read what older servers write."""
        assert machine.writer
        machine.root = ROOT
        machine.writer.process.send_signal(signal.SIGTERM)
        machine.writer.wait()
        machine.start_writer()
        self.restart(machine)

    def start_bouncer(self) -> None:
        self._bouncer = Program([_program("pgbouncer"), str(self._bouncer_file)], os.environ)
        self._bouncer.wait_for("process up")

    def stop_bouncer(self) -> None:
        self._bouncer.process.kill()
        self._bouncer.wait()


def state(machine: Machine) -> str:
    """The state that /readyz reports; empty if the server does not answer."""
    try:
        return str(httpx.get(f"{machine.base_url}/readyz", timeout=30).json()["state"])
    except httpx.HTTPError:
        return ""


def servers(machine: Machine) -> list[psutil.Process]:
    """The processes that serve requests: if there are several, the children of the one that supervises them."""
    assert machine.server
    keeper = psutil.Process(machine.server.process.pid)
    below = [each for each in keeper.children() if "serve" in _command(each)]
    return below or [keeper]


def _command(process: psutil.Process) -> list[str]:
    """The process's command line; empty if it has just exited."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _bouncer(data: Path, port: int) -> str:
    account = needed_account(print)
    lines = [
        *("[databases]", f"* = host={socket_dir(data)} user={USER}", "[pgbouncer]", "listen_addr = 127.0.0.1"),
        *(f"listen_port = {port}", "unix_socket_dir =", "auth_type = any", "pool_mode = session"),
        *("default_pool_size = 80", "max_client_conn = 400", *([f"user = {account.pw_name}"] if account else [])),
    ]
    return "\n".join(lines)


@contextmanager
def _nginx(folder: Path, ports: list[int]) -> Iterator[str]:
    """Run nginx with our configuration, except for names, ports and a self-signed certificate; gives its URL."""
    certificate = "req -x509 -newkey rsa:2048 -nodes -subj /CN=x -days 2".split()
    files = ["-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.pem")]
    subprocess.run([_program("openssl"), *certificate, *files], check=True, capture_output=True)
    port = free_port()
    servers = "\n".join(f"server 127.0.0.1:{each} max_fails=0;" for each in ports)
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    text = re.sub(r"server 127\.0\.0\.1:8000 max_fails=0;", servers, text)
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace("listen 80", f"listen {free_port()}")
    text = text.replace("/etc/ssl/viz.example", str(folder / "tls"))
    text = text.replace("/etc/nginx/nginx-locations.conf", str(ROOT / "deploy" / "nginx-locations.conf"))
    logs = f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;"
    (folder / "nginx.conf").write_text(f"{logs}\nevents {{}}\nhttp {{ access_log off;\n{text}\n}}")
    running = Program([_program("nginx"), "-c", str(folder / "nginx.conf")], os.environ)
    try:
        url = f"https://127.0.0.1:{port}"
        until(lambda: _answers(url), 30)
        yield url
    finally:
        running.process.terminate()
        running.wait()
        for line in (folder / "nginx.log").read_text().splitlines():
            if "Connection refused" not in line:  # nginx then tried another server
                print(line, file=sys.stderr)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", verify=False).status_code == httpx.codes.OK  # noqa: S501  our own
    except httpx.HTTPError:
        return False


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    return found or sys.exit(f"bench: {name} is not installed")
