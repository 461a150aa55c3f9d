"""The streams that tests read: the project's own, and in CI those of providers."""

import os
from pathlib import Path

import pytest

from tests import recordings
from tests.recordings import OWN, RECORDED_FORMATS, RECORDINGS, expected

ENDINGS = (".sse", ".json", ".expected.json")
IN_EACH_FORMAT = set("plain-text thinking parallel-calls refusal max-tokens error odd-text".split())


def test_each_format_has_streams_of_its_own() -> None:
    assert {folder.name for folder in OWN.iterdir() if folder.is_dir()} == set(RECORDED_FORMATS)


@pytest.mark.parametrize("wire_format", RECORDED_FORMATS)
def test_each_of_our_own_streams_has_an_expected_result(wire_format: str) -> None:
    streams = sorted((OWN / wire_format).glob("*.sse"))
    slugs = {path.stem for path in streams}
    assert slugs >= IN_EACH_FORMAT
    assert {path.name for path in (OWN / wire_format).iterdir()} == {slug + end for slug in slugs for end in ENDINGS}
    assert all(expected(path).keys() == {"finish_reason", "usage", "usage_norm", "blocks"} for path in streams)


def test_a_folder_that_has_no_streams_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recordings, "RECORDINGS", tmp_path)
    with pytest.raises(FileNotFoundError, match="RECORDINGS names their folder"):
        recordings.recorded("gemini")


def test_ci_does_without_recorded_streams_only_if_it_is_told_to() -> None:
    is_ci, is_told = bool(os.environ.get("CI")), bool(os.environ.get("RECORDINGS"))
    assert is_told or not is_ci or RECORDINGS != OWN, "there are no recorded streams: RECORDINGS names their folder"
