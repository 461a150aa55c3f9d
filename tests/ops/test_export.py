"""The file that `manage.py export --output` writes, and how much of the record is in memory meanwhile."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.management import call_command

from streamviz.ops.management.commands.export import _save
from streamviz.records import exporting
from streamviz.records.exporting import DeletedMeanwhile
from streamviz.records.models import Stream
from tests.records.alive import at_once
from tests.records.history import day, store, story
from tests.services import ROOT, clean_environment


def cut_off() -> Iterator[bytes]:
    yield b"a line\n"
    raise DeletedMeanwhile("a stream was deleted")


def test_a_file_stays_as_it_is_until_another_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "backup.jsonl"
    path.write_bytes(b"of yesterday\n")
    path.chmod(0o640)
    with pytest.raises(DeletedMeanwhile):
        _save(path, cut_off())
    assert (list(tmp_path.iterdir()), path.read_bytes()) == ([path], b"of yesterday\n")
    _save(path, [b"of today\n"])
    assert (list(tmp_path.iterdir()), path.read_bytes()) == ([path], b"of today\n")
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_export_that_is_stopped_leaves_nothing_and_says_nothing(tmp_path: Path, number: signal.Signals) -> None:
    script = """
import signal, sys
from pathlib import Path
import django
from streamviz import __main__
django.setup()
from streamviz.ops.management.commands.export import _save

# Where tests run in the background, or under nohup, these are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

def lines():
    yield b"a line"
    print("half written", flush=True)
    signal.pause()

__main__._run = lambda: _save(Path(sys.argv[1]), lines())
__main__.main()
"""
    environment = clean_environment(DJANGO_SETTINGS_MODULE="streamviz.settings")
    command = [sys.executable, "-c", script, str(tmp_path / "backup.jsonl")]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as exporting:
        assert exporting.stdout is not None
        assert exporting.stdout.readline() == "half written\n"
        exporting.send_signal(number)
        assert exporting.communicate() == ("", "")
    assert (exporting.returncode, list(tmp_path.iterdir())) == (-number, [])


@pytest.mark.integration
def test_the_next_export_removes_what_a_killed_one_left_but_not_what_another_is_writing(tmp_path: Path) -> None:
    script = """
import signal, sys
from pathlib import Path
import django
django.setup()
from streamviz.ops.management.commands.export import _save

def lines():
    yield b"a line" * 10_000
    print("half written", flush=True)
    signal.pause()

_save(Path(sys.argv[1]), lines())
"""
    environment = clean_environment(DJANGO_SETTINGS_MODULE="streamviz.settings")
    command = [sys.executable, "-c", script, str(tmp_path / "backup.jsonl")]
    others = tmp_path / ".export-of-another-program"
    others.write_bytes(b"theirs")
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as exporting:
        assert exporting.stdout is not None
        assert exporting.stdout.readline() == "half written\n"
        _save(path := tmp_path / "of today.jsonl", [b"a line\n"])
        assert len(list(tmp_path.iterdir())) == 3
        exporting.kill()
    _save(path, [b"a line\n"])
    assert set(tmp_path.iterdir()) == {path, others}


@pytest.mark.skipif(os.getuid() != 0, reason="root alone gives files away")
def test_a_file_that_is_somebody_elses_stays_theirs(tmp_path: Path) -> None:
    path = tmp_path / "backup.jsonl"
    path.touch(0o600)
    os.chown(path, 1234, 2345)
    _save(path, [b"of today\n"])
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 2345, 0o600)


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    _save(path := tmp_path / "new.jsonl", [b"a line\n"])
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    link, target, pipe = tmp_path / "link", tmp_path / "target", tmp_path / "pipe"
    target.touch()
    link.symlink_to(target)
    _save(link, [b"a line\n"])
    assert link.is_symlink()
    assert target.read_bytes() == b"a line\n"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        _save(pipe, [b"a line\n"])
        assert read.result() == b"a line\n"
    assert pipe.is_fifo()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("together", "size", "most"), [(50, 0, 2), (3, exporting.BYTES_TOGETHER, 5)], ids=["long ones", "short ones"]
)
def test_no_more_than_a_few_streams_are_in_memory_at_once(
    together: int, size: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "TOGETHER", together)
    monkeypatch.setattr(exporting, "BYTES_TOGETHER", size)
    store(*(story(day(1), session="long", number=number) for number in range(9)))
    with at_once(Stream) as numbers:
        call_command("export", days=10_000.0, output=str(tmp_path / "all.jsonl"))
    assert len(numbers) == 9
    assert max(numbers) <= most
