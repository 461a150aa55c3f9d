"""Recorded streams, sent again."""

import json
import re
from pathlib import Path

import pytest

from tests.recordings import sample
from tests.simulator.process import Simulator, http_chunks

SAMPLE = [
    path for wire_format in ("openai_chat", "anthropic_messages", "openai_responses") for path in sample(wire_format, 6)
]


def slug(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", SAMPLE, ids=slug)
@pytest.mark.parametrize("options", ["", "?pieces=333", "?pieces=4096&pace=1"])
def test_a_replay_is_byte_for_byte_the_recording(simulator: Simulator, path: Path, options: str) -> None:
    response = simulator.ask(path.parent.name, f"replay:{slug(path)}{options}")
    assert response.status == 200
    assert response.read() == path.read_bytes()


def test_a_paced_replay_sends_event_by_event(simulator: Simulator) -> None:
    path = min(SAMPLE, key=lambda path: path.stat().st_size)
    sizes = http_chunks(simulator, path.parent.name, f"replay:{slug(path)}?pace=1")
    assert sum(sizes) == path.stat().st_size
    assert len(sizes) == len(re.findall(rb"(?:\r?\n){2,}|\Z", path.read_bytes().rstrip()))


@pytest.mark.parametrize(
    "recording",
    [
        "openai_chat/no-such-slug",
        "openai_chat/../../design",
        "../streams/openai_chat/x",
        "/etc/passwd",
        "",
        "openai_chat",
        "openai_chat/a%00b",
        "openai_chat/" + "x" * 5000,
        "openai_chat/\u0000",
    ],
)
def test_it_rejects_recordings_outside_of_the_folder(simulator: Simulator, recording: str) -> None:
    response = simulator.ask("openai_chat", f"replay:{recording}")
    assert response.status == 404
    assert json.loads(response.read())["error"]["code"] == "model_not_found"


def test_it_rejects_a_recording_of_another_format(simulator: Simulator) -> None:
    assert simulator.ask("anthropic_messages", f"replay:{slug(SAMPLE[0])}").status == 400


def test_no_replay_without_a_folder(plain_simulator: Simulator) -> None:
    assert plain_simulator.ask("openai_chat", "replay:openai_chat/x").status == 404
