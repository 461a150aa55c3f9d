"""A stream's events in AG-UI's own client, which verifies their order and has the messages that the page shows."""

import json
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import Between, decide
from tests.e2e.proxied import MESSAGES, until
from tests.e2e.test_policies import Guarded
from tests.events.test_agui import events_of
from tests.recordings import RECORDED_FORMATS, recorded

DRIVER = Path(__file__).parent / "drivers" / "agui_node.mjs"
VERIFIER = DRIVER.with_name("agui_verify.mjs")
BLOCKS = "SELECT kind, name, text FROM records_block WHERE stream_id = %s ORDER BY ordinal"
ENDED = "SELECT outcome FROM records_stream WHERE id = %s AND outcome <> ''"
# RUNNING take some seconds to answer, one of them as a run with tool results; RECORDED have texts, thinking and calls.
RUNNING = [("slow", ""), ("parallel-tools?speed=0.5", ""), ("reasoner?seconds=2", "reasoning")]
RECORDED = ("content", "thinking", "content-tools-empty", "parallel-tools", "refusal")


Read = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def read(between: Between, programs: Callable[[str], Path]) -> Read:
    """Reads a stream's events, with the key that made it or with a browser's cookies."""

    def run(stream: str, cookie: str = "") -> dict[str, Any]:
        found = programs("node").parents[1]
        shutil.copy(DRIVER, found)
        given = json.dumps({"base": between.base, "key": between.key, "cookie": cookie, "streams": {"read": stream}})
        done = subprocess.run(["node", str(found / DRIVER.name), given], capture_output=True, text=True, timeout=120)
        assert done.stdout, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        assert "error" not in said, said
        return said

    return run


def shown(between: Between, stream: str) -> dict[str, list[Any]]:
    """What the stream's page shows once the stream is over."""
    until(lambda: between.proxied.query(ENDED, stream))
    rows = between.proxied.query(BLOCKS, stream)
    return {
        "texts": [text for kind, _, text in rows if kind in ("content", "refusal")],
        "thoughts": [text for kind, _, text in rows if kind == "thinking"],
        "calls": [(name, text) for kind, name, text in rows if kind == "tool_call"],
    }


def told(said: dict[str, Any]) -> dict[str, list[Any]]:
    """The same, from the messages that the client has."""
    messages = said["messages"]
    calls = [call["function"] for message in messages for call in message.get("toolCalls", ())]
    return {
        "texts": [each["content"] for each in messages if each["role"] == "assistant" and each.get("content")],
        "thoughts": [each["content"] for each in messages if each["role"] == "reasoning"],
        "calls": [(call["name"], call["arguments"]) for call in calls],
    }


@pytest.mark.parametrize("scenario", RECORDED)
def test_the_events_of_a_recorded_stream_tell_what_its_page_shows(scenario: str, between: Between, read: Read) -> None:
    answer = between.proxied.post({"model": f"sim/{scenario}", "messages": MESSAGES, "stream": True})
    stream = answer.headers["x-streamviz-stream"]
    said = read(stream)
    assert said["types"][0] == "RUN_STARTED"
    assert said["types"][-1] == "RUN_FINISHED"
    assert said["messages"][0]["content"] == MESSAGES[0]["content"]
    assert told(said) == shown(between, stream)


def test_the_events_of_all_recorded_streams_are_verified(programs: Callable[[str], Path], tmp_path: Path) -> None:
    """And a stream with events after its end is rejected."""
    runs = [
        {"name": f"{wire_format}/{file.stem}", "events": events_of(wire_format, file)[0]}
        for wire_format in RECORDED_FORMATS
        for file in recorded(wire_format)
    ]
    wrong = {"name": "wrong", "events": [*runs[0]["events"], *runs[0]["events"][1:-1]]}
    lines = tmp_path / "runs"
    lines.write_text("".join(f"{json.dumps(run)}\n" for run in [*runs, wrong]))
    found = programs("node").parents[1]
    shutil.copy(VERIFIER, found)
    done = subprocess.run(
        ["node", str(found / VERIFIER.name), str(lines)], capture_output=True, text=True, timeout=300, check=True
    )
    said = json.loads(done.stdout)
    assert said["runs"] == len(runs) + 1
    assert [each.partition(":")[0] for each in said["against"]] == ["wrong"], said["against"]


@pytest.mark.parametrize(("model", "executor"), RUNNING)
def test_the_events_of_a_running_stream_tell_what_its_page_shows(
    model: str, executor: str, between: Between, read: Read
) -> None:
    body = {"model": f"sim/{model}", "messages": MESSAGES, "stream": True}
    with ThreadPoolExecutor() as others, between.proxied.posting(body, x_streamviz_executor=executor) as response:
        stream = response.headers["x-streamviz-stream"]
        reading = others.submit(read, stream)
        response.read()
        said = reading.result()
    assert told(said) == shown(between, stream)
    assert bool(executor) == any("count_words" in thought for thought in told(said)["thoughts"])


def test_the_events_of_a_running_stream_tell_nothing_of_a_denied_call(between: Between, read: Read) -> None:
    """Readers of the events get what the client got: the text in place of the call."""
    between.proxied.sign_in()
    between.proxied.switch("shell-guard", "enforce")
    try:
        body = {"model": "sim/dangerous?speed=0.5", "messages": MESSAGES, "stream": True}
        with ThreadPoolExecutor() as others, between.proxied.posting(body) as response:
            stream = response.headers["x-streamviz-stream"]
            reading = others.submit(read, stream)
            response.read()
            said = reading.result()
    finally:
        between.proxied.switch("shell-guard", "off")
    assert told(said)["calls"] == []
    assert "rm -rf" not in json.dumps(said)
    assert told(said)["texts"][:1] == shown(between, stream)["texts"][:1]


@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_the_events_of_a_running_stream_tell_what_a_person_decided(
    decision: str, between: Between, guarded: Guarded, read: Read
) -> None:
    """A reader with the key gets what the client got, and a person's browser what the page shows."""
    model = f"sim/dangerous?pace=1&seed={len(decision)}"
    guarded.add("tool_rule", {"names": ["run_shell"]}, by_hand="deny", by_hand_seconds=600, models_scope=model)
    cookie = "; ".join(f"{name}={value}" for name, value in guarded.http.cookies.items())
    body = {"model": model, "messages": MESSAGES, "stream": True}
    with ThreadPoolExecutor() as others, between.proxied.posting(body) as response:
        stream = response.headers["x-streamviz-stream"]
        readings = [others.submit(read, stream), others.submit(read, stream, cookie)]
        decide(guarded, model, decision)
        got = response.read().decode()
        client, person = (each.result() for each in readings)
    page = shown(between, stream)
    assert told(person) == page
    assert client["types"].count("CUSTOM") > 1
    if decision == "allow":
        assert told(client) == page
    else:
        assert "rm -rf" not in json.dumps(client)
        assert (told(client)["calls"], told(client)["texts"]) == ([], page["texts"])
    assert ("run_shell" in got) == (decision == "allow")
