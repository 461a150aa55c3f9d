"""How packages are installed: by several pips at once, each with a part of a lock file."""

import fcntl
import re
import subprocess
import sys
import threading
import venv
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.services import ROOT

UNKNOWN = f"nobody-has-made-this==1.0 \\\n    --hash=sha256:{'0' * 64}\n"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """scripts/install.py, with the tests' Python in place of the one that it would create."""
    spec = spec_from_file_location("install", ROOT / "scripts" / "install.py")
    assert spec
    assert spec.loader
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    monkeypatch.setattr(found, "PYTHON", Path(sys.executable))
    return found


@pytest.mark.parametrize("kind", ["run", "dev"])
def test_a_lock_files_packages_are_all_that_is_in_it_but_comments(script: ModuleType, kind: str) -> None:
    lock = ROOT / "requirements" / f"{kind}.txt"
    packages = script.read_packages(lock)
    assert "".join(packages).splitlines() == [line for line in lock.read_text().splitlines() if line[:1] != "#"]
    assert all("==" in package and "--hash=sha256:" in package for package in packages)


@pytest.mark.integration
def test_what_cannot_be_installed_is_named(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    lock = tmp_path / "some.txt"
    lock.write_text(f"# a comment\n{UNKNOWN}")
    with pytest.raises(SystemExit, match=r"pip could not install some\.txt: ERROR: .*nobody-has-made-this==1\.0"):
        script.install(lock)
    assert "installing 1 packages" in capsys.readouterr().out


@pytest.mark.integration
def test_a_venv_is_made_anew_where_making_it_was_interrupted(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / ".venv", symlinks=True)
    python = tmp_path / ".venv" / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip())
    (packages / "pip").mkdir()
    (packages / "pip" / "__init__.py").touch()
    monkeypatch.setattr(script, "PYTHON", python)
    assert not script.venv_works()
    record = packages / "pip-1.0.dist-info" / "RECORD"  # the last file that is written
    record.parent.mkdir()
    record.write_text("pip/__init__.py,,\n")
    assert script.venv_works()


def test_a_folder_that_cannot_be_written_to_is_one_line(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "__file__", str(tmp_path))  # root may write to any file, so use a folder
    with pytest.raises(SystemExit, match=r"^streamviz: .* cannot be written to \(Is a directory\)"), script.alone():
        pass


@pytest.mark.integration
def test_why_no_venv_can_be_made_is_told(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(script, "VENV", tmp_path / "file" / ".venv")
    with pytest.raises(SystemExit, match=r"cannot make a virtual environment: .*Not a directory"):
        script.make_venv()


def test_where_the_venv_module_is_not_whole_how_to_have_it_so_is_told(script: ModuleType) -> None:
    assert "Install its venv module" in script.why_no_venv("Error: Command '['python3', '-m', 'ensurepip']' failed.")
    assert script.why_no_venv("Error: [Errno 28] No space left on device") == ": [Errno 28] No space left on device"


def test_of_two_at_once_one_waits_and_then_finds_it_done(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, found = threading.Event(), iter([False, True])
    installed: list[Path] = []
    monkeypatch.setattr(script, "is_installed", lambda _: next(found))
    monkeypatch.setattr(script, "bring_up_to_date", installed.append)
    monkeypatch.setattr(script, "print", lambda *_, **__: waits.set(), raising=False)
    with (ROOT / "scripts" / "install.py").open("r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        second = threading.Thread(target=script.main, args=["run"], daemon=True)
        second.start()
        assert waits.wait(60)
    second.join(60)
    assert not second.is_alive()
    assert next(found, None) is None
    assert installed == []


def test_what_make_runs_works_where_the_clone_was_moved() -> None:
    """Scripts in a .venv begin with the path at which it was created."""
    lines = "".join((ROOT / file).read_text() for file in ("Makefile", ".ci/run"))
    named = set(re.findall(r"\.venv/bin/([\w-]+)", lines))
    beginnings = {name: (Path(sys.executable).parent / name).read_bytes()[:2] for name in named}
    assert "python" in beginnings
    assert [name for name, beginning in beginnings.items() if beginning == b"#!"] == []
