"""The location of sockets, in folders with short names and with long ones."""

import socket
import tempfile
from pathlib import Path

import pytest

from streamviz.ops import workers
from streamviz.ops.embedded_postgres import SOCKET_NAME, socket_dir


@pytest.fixture
def _long_tmpdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (long := tmp_path / ("x" * 100)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))


@pytest.mark.usefixtures("_long_tmpdir")
def test_the_hub_has_a_socket_where_the_temporary_folder_has_a_long_path() -> None:
    with workers.own_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(Path(folder) / "hub"))


@pytest.mark.usefixtures("_long_tmpdir")
def test_postgres_has_a_socket_where_its_folder_has_a_long_path(tmp_path: Path) -> None:
    assert len(str(socket_dir(tmp_path / ("y" * 100)) / SOCKET_NAME)) < 100


def test_else_they_are_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/srv")
    assert socket_dir(tmp_path / ("y" * 100)).parent == Path("/srv")
