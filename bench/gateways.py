"""What is measured: the upstream alone, streamviz and the LiteLLM proxy, run as processes."""

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import httpx
import psutil

ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var" / "bench"
LITELLM_CONFIG = """\
model_list:
  - model_name: "*"
    litellm_params: {{model: "openai/*", api_base: "{upstream}/v1", api_key: bench}}
"""
START_SECONDS = 240
STOP_SECONDS = 30
# The CPUs that a process may run on, in taskset's list format; None for all.
Cpus = int | str | None
FORM_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass
class Gateway:
    """A running gateway: its port, the key it expects, its server process and the process that started everything."""

    name: str
    port: int
    key: str = ""
    sign_in_link: str = ""
    server: psutil.Process | None = None
    starter: psutil.Process | None = None

    def cpu_seconds(self) -> tuple[float, float]:
        """CPU time so far: of the server, and of all processes together."""
        started = self.starter.children(recursive=True) if self.starter else []
        own = _cpu_seconds(self.server) if self.server else 0.0
        return own, own + sum(_cpu_seconds(process) for process in started if process != self.server)


def _cpu_seconds(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def cpus() -> tuple[int | None, int | None]:
    """One CPU for the load generators and one for what is measured, if the system can pin processes."""
    if not hasattr(os, "sched_getaffinity"):
        return None, None
    cpus = sorted(os.sched_getaffinity(0))
    return (cpus[0], cpus[1]) if len(cpus) > 1 else (None, None)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def upstream(cpu: Cpus) -> Iterator[Gateway]:
    """The upstream with fixed answers, which clients also call directly."""
    port = free_port()
    with _running([sys.executable, "-m", "bench.upstream", str(port)], "upstream", {}, cpu) as process:
        _wait_until_it_listens(port, process, "upstream")
        yield Gateway("direct", port)


@contextmanager
def provider(command: list[str], port: int, cpu: Cpus) -> Iterator[None]:
    """Another upstream, listening on `port`."""
    with _running(command, "provider", {}, cpu) as process:
        _wait_until_it_listens(port, process, "provider")
        yield


@contextmanager
def streamviz(upstream_port: int, cpu: Cpus, **settings: str) -> Iterator[Gateway]:
    """streamviz with an empty database of its own. Instances with different settings can run at the same time."""
    name = "-".join(["streamviz", *settings.values()])
    shutil.rmtree(VAR / name, ignore_errors=True)
    port = free_port()
    environment = {
        "VAR_DIR": str(VAR / name),
        "PORT": str(port),
        "SIMULATOR_PORT": str(free_port()),
        "DATABASE_URL": "",
        "LOG_LEVEL": "WARNING",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{upstream_port}/v1",
        "OPENAI_API_KEY": "bench",
        **settings,
    }
    with _running([sys.executable, "manage.py", "up"], name, environment, cpu) as process:
        _wait_until_it_says(r"curl -N ", process, name)
        key, link = ((VAR / name / file).read_text().strip() for file in ("first_key", "sign_in_link"))
        starter = psutil.Process(process.pid)
        server = next(child for child in starter.children() if child.cmdline()[-1:] == ["serve"])
        yield Gateway("streamviz", port, key, link, server, starter)


def sign_in(link: str) -> dict[str, str]:
    """Sign in and return the cookies. The link works once and leads to a page with a button to press."""
    with httpx.Client(timeout=30) as client:
        found = FORM_TOKEN.search(client.get(link).text)
        assert found, f"{link} has no form"
        client.post(link, data={"csrfmiddlewaretoken": found[1]})
        return dict(client.cookies)


@contextmanager
def litellm_proxy(upstream_port: int, cpu: Cpus) -> Iterator[Gateway]:
    """The LiteLLM proxy, one worker with no database, from its own environment."""
    port = free_port()
    config = VAR / "litellm.yaml"
    config.write_text(LITELLM_CONFIG.format(upstream=f"http://127.0.0.1:{upstream_port}"))
    command = [str(litellm_environment() / "bin" / "litellm"), "--config", str(config)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    key = f"sk-{secrets.token_hex(32)}"
    environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": key}
    with _running(command, "litellm", environment, cpu) as process:
        _wait_until_it_listens(port, process, "litellm")
        yield Gateway("LiteLLM proxy", port, key, server=psutil.Process(process.pid))


def litellm_environment() -> Path:
    """A virtual environment with the proxy of the LiteLLM release that streamviz uses; created if missing."""
    folder = VAR / f"litellm-{version('litellm')}"
    done = folder / "installed"
    if not done.exists():
        say(f"Installing the LiteLLM proxy {version('litellm')} into {folder.relative_to(ROOT)}")
        uv = str(Path(sys.executable).with_name("uv"))
        overrides = str(Path(__file__).with_name("litellm-overrides.txt"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), "--override", overrides]
        subprocess.run([*install, f"litellm[proxy]=={version('litellm')}"], check=True)
        done.touch()
    return folder


def say(line: str) -> None:
    """Print progress to stderr, so it stays out of the table."""
    print(f"bench: {line}", file=sys.stderr, flush=True)


@contextmanager
def _running(
    command: list[str], name: str, environment: dict[str, str], cpu: Cpus
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process, pinned to a CPU with all its children, until the block ends. Its output is logged in VAR."""
    VAR.mkdir(parents=True, exist_ok=True)
    pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
    with (VAR / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*pinned, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env=os.environ | environment,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_says(pattern: str, process: "subprocess.Popen[bytes]", name: str) -> None:
    log = VAR / f"{name}.log"
    while not re.search(pattern, log.read_text(errors="replace")):
        _wait_a_little(process, name)


def _wait_until_it_listens(port: int, process: "subprocess.Popen[bytes]", name: str) -> None:
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        _wait_a_little(process, name)


def _wait_a_little(process: "subprocess.Popen[bytes]", name: str) -> None:
    started = psutil.Process(process.pid).create_time() if process.poll() is None else 0.0
    if time.time() - started > START_SECONDS:
        sys.exit(f"bench: {name} does not start; see {VAR / name}.log")
    time.sleep(0.2)
