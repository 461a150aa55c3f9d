"""`manage.py aggregate` as people run it: files in, one JSON object per line out, no database involved."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streamviz.ops.management.commands.aggregate import growing
from tests.recordings import RECORDED_FORMATS, differences, recorded
from tests.services import ROOT, clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.integration]

HELLO = b'data: {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}\n\n'
USAGE = b'data: {"choices": [], "usage": {"total_tokens": 7, "odd": [null]}}\n\ndata: [DONE]\n\n'
# Nothing listens there, so any query would fail.
NO_DATABASE = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}


def aggregate(wire_format: str, *files: Path, fault: str = "") -> list[dict[str, Any]]:
    """What the command prints, one object per line. Raises AssertionError if it ends otherwise than with this fault, or
    prints anything else."""
    command = [sys.executable, "manage.py", "aggregate", wire_format, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(**NO_DATABASE), capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == ((1, f"streamviz: {fault}\n") if fault else (0, ""))
    return [json.loads(line) for line in done.stdout.splitlines()]


def written(tmp_path: Path, name: str, data: bytes) -> Path:
    """A file with these bytes."""
    file = tmp_path / f"{name}.sse"
    file.write_bytes(data)
    return file


def test_each_file_is_a_line_in_their_order(tmp_path: Path) -> None:
    texts = [f"text {number}\u2028\u0085" for number in range(5)]
    files = [
        written(
            tmp_path,
            str(9 - number),
            b'data: {"choices": [{"delta": {"content": %s}}]}\n\n' % json.dumps(text).encode(),
        )
        for number, text in enumerate(texts)
    ]
    assert [line["blocks"][0]["text"] for line in aggregate("openai_chat", *files)] == texts


@pytest.mark.parametrize("files", [1, 300], ids=["in the buffer", "beyond it"])
def test_it_ends_quietly_where_nobody_reads_on(tmp_path: Path, files: int) -> None:
    command = [sys.executable, "manage.py", "aggregate", "openai_chat", *[str(written(tmp_path, "one", HELLO))] * files]
    theirs, ours = os.pipe()
    os.close(theirs)
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=clean_environment(**NO_DATABASE), stdout=ours, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(ours)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("files", [1, 300], ids=["in the buffer", "beyond it"])
def test_a_full_disk_is_one_line(tmp_path: Path, files: int) -> None:
    command = [sys.executable, "manage.py", "aggregate", "openai_chat", *[str(written(tmp_path, "one", HELLO))] * files]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, cwd=ROOT, env=clean_environment(**NO_DATABASE), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"streamviz: standard output: No space left on device.\n")


def test_usage_is_as_upstream_sent_it(tmp_path: Path) -> None:
    [line] = aggregate("openai_chat", written(tmp_path, "one", HELLO + USAGE))
    assert line["usage"] == {"total_tokens": 7, "odd": [None]}
    assert set(line) == {"finish_reason", "usage", "blocks"}
    assert set(line["blocks"][0]) == {"type", "choice", "index", "id", "name", "text"}


def test_a_file_that_cannot_be_read_is_an_error_and_hides_no_other(tmp_path: Path) -> None:
    good = written(tmp_path, "good", HELLO)
    files = tmp_path / "missing.sse", tmp_path, good
    missing, folder, last = aggregate("openai_chat", *files, fault="2 of 3 files cannot be read.")
    assert list(missing) == list(folder) == ["error"]
    assert "missing.sse" in missing["error"]
    assert last["blocks"][0]["text"] == "Hello"


def test_an_empty_file_has_no_blocks(tmp_path: Path) -> None:
    assert aggregate("openai_chat", written(tmp_path, "empty", b"")) == [
        {"finish_reason": None, "usage": None, "blocks": []}
    ]


@pytest.mark.parametrize("wire_format", RECORDED_FORMATS)
def test_every_recorded_stream_is_as_expected(wire_format: str) -> None:
    files = recorded(wire_format)
    lines = aggregate(wire_format, *files)
    wrong = {file.stem: differences(file, line) for file, line in zip(files, lines, strict=True)}
    assert not {stem: found for stem, found in wrong.items() if found}


def test_a_compressed_file_is_read_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    packed = gzip.compress(HELLO)
    files = [written(tmp_path, name, data) for name, data in (("packed", packed), ("cut", packed[:-9]))]
    good, bad = aggregate("openai_chat", *files, fault="1 of 2 files cannot be read.")
    assert good["blocks"][0]["text"] == "Hello"
    assert list(bad) == ["error"]


def test_a_file_that_is_cut_or_replaced_is_followed_from_its_beginning(tmp_path: Path) -> None:
    file = written(tmp_path, "grows", b"one")
    pieces = growing(file)
    assert next(pieces) == b"one"
    file.write_bytes(b"2")
    assert next(pieces) == b"2"
    written(tmp_path, "new", b"three").rename(file)
    assert next(pieces) == b"three"
    with file.open("ab") as more:
        more.write(b" four")
    assert next(pieces) == b" four"
    pieces.close()
