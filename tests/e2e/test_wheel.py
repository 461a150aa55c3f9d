"""The wheel, installed without the rest of the project: it starts, streams, and shows its pages."""

import os
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.proxied import Proxied
from tests.services import ROOT, NewDatabase, Streamviz, clean_environment
from tests.thorough import IS_THOROUGH

pytestmark = pytest.mark.slow

UV = Path(sysconfig.get_path("scripts")) / "uv"


class Installed(Streamviz):
    """Runs `streamviz up`."""

    def __init__(self, bare: Path, folder: Path, database_url: str) -> None:
        super().__init__(folder / "data", {"DATABASE_URL": database_url})
        self.command, self.folder = [str(bare / "bin" / "streamviz")], folder
        for name in ("django", "secrets", "streamviz"):  # the user's files, which must not be imported
            (folder / f"{name}.py").write_text("raise SystemExit('a file of the current folder was imported')")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel; a thorough run also installs its packages, which takes a minute."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True)
    [wheel] = folder.glob("*.whl")
    venv.create(bare := folder / "bare")
    install = [UV, "pip", "install", "--quiet", "--python", bare / "bin" / "python", "--no-deps"]
    if IS_THOROUGH:
        subprocess.run([*install, "-r", ROOT / "requirements" / "run.txt"], check=True)
    else:
        [packages] = bare.glob("lib/python*/site-packages")
        (packages / "packages.pth").write_text(sysconfig.get_path("purelib"))
    subprocess.run([*install, wheel], check=True)
    return bare


@pytest.fixture(scope="module")
def proxied(bare: Path, new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with new_database() as url:
        server = Installed(bare, tmp_path_factory.mktemp("elsewhere"), url).start()
        try:
            with Proxied(server) as proxied:
                yield proxied
        finally:
            assert server.stop() == 0


def test_it_streams_and_records(proxied: Proxied) -> None:
    answer = proxied.ask("content?speed=inf", "from the wheel")
    assert answer.status == httpx.codes.OK
    assert b"".join(proxied.chunks(proxied.recorded("from the wheel"))) == proxied.sent_upstream(answer)


def test_it_has_its_pages_and_what_they_are_drawn_with(proxied: Proxied) -> None:
    proxied.sign_in()
    for path in ("/", "/sessions/", "/stats/", "/system/", "/static/css/base.css", "/admin/"):
        assert proxied.http.get(path, follow_redirects=True).status_code == httpx.codes.OK, path


def test_the_data_of_an_installed_wheel_is_in_the_users_folder(bare: Path, tmp_path: Path) -> None:
    shown = ["shell", "-v0", "-c", "from django.conf import settings; print(settings.VAR_DIR)"]
    environment = clean_environment(XDG_DATA_HOME=str(tmp_path))
    command = [bare / "bin" / "streamviz", *shown]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == os.fspath(tmp_path / "streamviz")


def test_it_says_what_it_can_do(bare: Path) -> None:
    said = subprocess.run([bare / "bin" / "streamviz", "--help"], capture_output=True, text=True, check=True).stdout
    assert {"up", "serve", "write", "verify", "export"} <= set(said.split())
