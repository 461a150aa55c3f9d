"""The files under deploy/, checked by the programs that read them and against streamviz. `make lint-deploy` checks the
schemas of the files for compose and Kubernetes."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from streamviz import environment
from streamviz.faults import Refused
from streamviz.ops.children import STOP_SECONDS
from streamviz.ops.embedded_postgres import LOGS_NO_DATA
from streamviz.upstream.providers import PROVIDERS
from tests.conftest import missing
from tests.services import ROOT

DEPLOY = ROOT / "deploy"
SYSTEM_PATH = f"{os.environ['PATH']}:/usr/sbin"


def program(name: str) -> str:
    found = shutil.which(name, path=SYSTEM_PATH)
    if not found:
        missing(name)
    return found or ""


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def pods() -> list[dict[str, Any]]:
    """The pod specs in all of Kubernetes' files."""
    documents = [each for file in DEPLOY.glob("kubernetes/*.yaml") for each in yaml.safe_load_all(file.read_text())]
    return [each["spec"]["template"]["spec"] for each in documents if "template" in each.get("spec", {})]


def settings() -> dict[str, dict[str, str]]:
    """The settings in each file."""
    kubernetes = {name: read(f"deploy/kubernetes/{name}.yaml") for name in ("config", "secret.example")}
    unit = re.findall(r"^Environment=(\w+)=(.*)$", (DEPLOY / "streamviz.service").read_text(), re.MULTILINE)
    return {
        "compose": read("docker-compose.yml")["x-streamviz"]["environment"],
        "config": kubernetes["config"]["data"],
        "secret": kubernetes["secret.example"]["stringData"],
        "unit": dict(unit),
    }


def nginx_command(folder: Path, name: str, more: str = "") -> list[str]:
    """The command to run nginx with this file, `more` in its `http` block, and a certificate of its own."""
    certificate = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x"]
    files = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
    subprocess.run([program("openssl"), *certificate, *files], check=True, capture_output=True)
    text = (DEPLOY / name).read_text()
    text = re.sub(r"(ssl_certificate\s+)\S+;", rf"\g<1>{folder}/cert.pem;", text)
    text = re.sub(r"(ssl_certificate_key\s+)\S+;", rf"\g<1>{folder}/key.pem;", text)
    text = re.sub(r"listen (\d+)", rf"listen unix:{folder}/\1.socket", text)
    text = text.replace("/etc/nginx/nginx-locations.conf", str(DEPLOY / "nginx-locations.conf"))
    # Debian's nginx is too old to resolve names repeatedly.
    text = re.sub(r"resolver [^;]*;| resolve(?= )", "", text).replace("server web:", "server 127.0.0.1:")
    text = text.replace("server 127.0.0.1:8000", f"server unix:{folder}/ours.socket")
    whole = folder / "nginx.conf"
    whole.write_text(f"pid {folder}/pid; events {{}}\nhttp {{ access_log off;\n{text}\n{more}\n}}")
    return [program("nginx"), "-q", "-e", "stderr", "-c", str(whole)]


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of nginx, with our configuration, in front of a server that answers 200 to everything."""
    ours = f"server {{ listen unix:{tmp_path}/ours.socket; return 200; }}"
    command = nginx_command(tmp_path, "nginx.conf", ours)
    running = subprocess.Popen([*command, "-g", "daemon off; master_process off;"])
    try:
        transport = httpx.HTTPTransport(uds=f"{tmp_path}/443.socket", verify=False, retries=9)
        with httpx.Client(base_url="https://viz.example", transport=transport) as client:
            yield client
    finally:
        running.terminate()
        running.wait()


@pytest.mark.integration
@pytest.mark.parametrize("name", ["nginx.conf", "nginx-compose.conf"])
def test_nginx_takes_its_file(tmp_path: Path, name: str) -> None:
    checked = subprocess.run([*nginx_command(tmp_path, name), "-t"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.integration
def test_nginx_takes_our_locations_beside_what_other_tools_of_the_name_are_given(tmp_path: Path) -> None:
    command = nginx_command(tmp_path, "nginx.conf")
    whole = tmp_path / "nginx.conf"
    whole.write_text(whole.read_text().replace("server_name", "client_max_body_size 1m; server_name"))
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.integration
def test_nginx_keeps_the_figures_from_others_below_a_path_too(asked: httpx.Client) -> None:
    for path in ("/metrics", "/streamviz/metrics", "/team/viz/metrics", "/streamviz//metrics", "/streamviz/%6detrics"):
        assert asked.get(path).status_code == 403, path
    for path in ("/", "/streamviz/", "/metrics/x", "/v1/batches/metrics", "/streamviz/v1beta/metrics"):
        assert asked.get(path).status_code == 200, path


@pytest.mark.integration
def test_systemd_takes_its_unit(tmp_path: Path) -> None:
    unit = tmp_path / "streamviz.service"
    unit.write_text((DEPLOY / "streamviz.service").read_text().replace("/opt/streamviz/bin/streamviz", "/bin/true"))
    verified = subprocess.run([program("systemd-analyze"), "verify", unit], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")


def test_systemd_does_not_start_what_refuses_a_setting_again() -> None:
    assert f"RestartPreventExitStatus={Refused.status}\n" in (DEPLOY / "streamviz.service").read_text()


def put_into_image(folder: Path) -> None:
    """Copy what the Dockerfile copies, to the same places."""
    for names, place in re.findall(r"^COPY (.+) (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE):
        for name in names.split():
            target = folder / place / name if place.endswith("/") else folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, target)


@pytest.mark.integration
def test_the_image_has_all_from_which_processes_tell_their_version(tmp_path: Path) -> None:
    put_into_image(tmp_path)
    command = [sys.executable, "-m", "streamviz", "--version"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told.stdout.startswith("streamviz 0."), told.stderr


def test_the_files_set_nothing_but_settings() -> None:
    credentials = {variable for provider in PROVIDERS.values() for variable in provider.variables}
    for file, names in settings().items():
        assert names.keys() <= environment._asked | credentials, file


def test_whoever_stops_a_server_waits_until_it_and_its_writer_have_ended() -> None:
    told = settings()
    compose = read("docker-compose.yml")
    streams = int(told["compose"]["STOP_GRACE_SECONDS"])
    graces = [each.get("stop_grace_period") for name, each in compose["services"].items() if name != "redis"]
    assert graces == ["60s"] * len(graces)
    assert streams + 2 * STOP_SECONDS <= 60
    [web] = [pod for pod in pods() if "terminationGracePeriodSeconds" in pod]
    pause = web["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    in_all = pause + int(told["config"]["STOP_GRACE_SECONDS"]) + 2 * STOP_SECONDS
    assert web["terminationGracePeriodSeconds"] >= in_all


def test_with_compose_every_setting_can_be_set_in_the_file_that_the_readme_makes() -> None:
    services = read("docker-compose.yml")["services"]
    given = {name: service.get("env_file") for name, service in services.items() if service.get("image") == "streamviz"}
    of_all = [{"path": ".env", "required": False}]
    assert given == {"web": of_all, "writer": of_all, "migrate": of_all}


def test_composes_postgres_logs_no_data_either() -> None:
    command = read("docker-compose.yml")["services"]["postgres"]["command"]
    assert {f"{name}={value}" for name, value in LOGS_NO_DATA.items()} <= set(command)


def test_the_writer_has_the_servers_journals() -> None:
    services = read("docker-compose.yml")["services"]
    assert services["web"]["volumes"] == services["writer"]["volumes"] == ["var:/app/var"]
    [web] = [pod for pod in pods() if "initContainers" in pod]
    [writer], [server] = web["initContainers"], web["containers"]
    assert (writer["restartPolicy"], writer["volumeMounts"]) == ("Always", server["volumeMounts"])
    assert settings()["config"]["VAR_DIR"] == server["volumeMounts"][0]["mountPath"]
