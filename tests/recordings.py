"""The recorded streams that tests read, and their expected results.

They are in the folder that RECORDINGS names, or next to the project; a clone without either reads the few of its own.
A plain run reads some of each format, spread over the list. A thorough run reads all, or, for tests that try a lot with
each stream, a subset that has every feature of the rest.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.thorough import IS_THOROUGH

# The project's own streams, written for its tests.
OWN = Path(__file__).with_name("streams")
_BESIDE = Path(__file__).parents[2] / "shared" / "streams"
RECORDINGS = Path(os.environ.get("RECORDINGS") or (_BESIDE if _BESIDE.exists() else OWN))
# How many of each format a plain run reads.
_SOME = 30

# The formats with recorded streams.
RECORDED_FORMATS = ("anthropic_messages", "gemini", "openai_chat", "openai_responses")
# Formats that mark where each block begins and ends, so that only one order of blocks is right.
FORMATS_WITH_ORDER = ("anthropic_messages", "openai_responses")
TEXTS = ("content", "thinking", "refusal")
# Members whose values are words of the format. Names that are no plain words (ids, models' inventions) count as equal.
WORDS = {"type", "role", "status", "finish_reason", "stop_reason", "finishReason"}
_NAME = re.compile("[A-Za-z_]{1,30}")

Blocks = list[dict[str, Any]]


def recorded(wire_format: str) -> list[Path]:
    """The recorded streams of a format that this run reads. Raises FileNotFoundError if there are none."""
    files = sorted((RECORDINGS / wire_format).glob("*.sse"))
    if not files:
        raise FileNotFoundError(f"no recorded streams in {RECORDINGS / wire_format}: RECORDINGS names their folder")
    return files if IS_THOROUGH else _spread(files, _SOME)


@cache
def telling(wire_format: str) -> list[Path]:
    """In a thorough run, a subset of the recorded streams that has everything that any of them has: each member of a
    payload with each type of value, each word of the format, each way of writing lines, and each kind of payload after
    each other kind. It consists of the shortest such streams, so tests that try a lot with each take a third of the
    time."""
    if not IS_THOROUGH:
        return recorded(wire_format)
    known: set[str] = set()
    found = []
    for path in sorted(recorded(wire_format), key=lambda path: (path.stat().st_size, path.name)):
        if new := _traits(path.read_bytes()) - known:
            known |= new
            found.append(path)
    return sorted(found)


def _traits(data: bytes) -> set[str]:
    found = {"CRLF"} if b"\r\n" in data else set()
    kind, before = "", ""
    for line in data.splitlines():
        field, _, value = line.partition(b":")
        found.add(f"a line of {field!r}")
        if field == b"data" and value.strip() != b"[DONE]":
            shapes = set(_shapes(json.loads(value)))
            kind, before = " ".join(sorted({shape.partition(":")[0] for shape in shapes})), kind
            found |= {*shapes, f"{kind}, behind {before}"}
    return found


def _shapes(value: Any, place: str = "") -> Iterator[str]:
    """The places in a payload and what is there, one string for each."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _shapes(inner, f"{place}.{name if _NAME.fullmatch(name) else '*'}")
    elif isinstance(value, list):
        yield f"{place}[{min(len(value), 2)}]"
        for inner in value:
            yield from _shapes(inner, f"{place}[]")
    elif place.rpartition(".")[2] in WORDS:
        yield f"{place} is {value}"
    else:
        yield f"{place}: {type(value).__name__}, {bool(value)}"


def sample(wire_format: str, most: int) -> list[Path]:
    """`most` of them or a few more, spread over the list."""
    return _spread(recorded(wire_format), most)


def _spread(files: list[Path], most: int) -> list[Path]:
    return files[:: max(1, len(files) // most)]


def expected(recording: Path) -> Any:
    """The expected result of a recorded stream: its finish reason, usage and blocks."""
    return json.loads(recording.with_suffix(".expected.json").read_text())


def tags(recording: Path) -> set[str]:
    """What is odd about a recorded stream, in the words that test_lint.py knows, among others."""
    return set(json.loads(recording.with_suffix(".json").read_text())["tags"])


def differences(recording: Path, got: dict[str, Any]) -> list[str]:
    """How an aggregation, as printed by `manage.py aggregate`, differs from the recording's expected result."""
    want = expected(recording)
    blocks, others = want["blocks"], got["blocks"]
    is_same = {
        "finish_reason": want["finish_reason"] == got["finish_reason"],
        "usage": _without_nulls(want["usage"]) == _without_nulls(got["usage"]),
        "texts": _texts(blocks) == _texts(others),
        "calls": _are_same_calls(_calls(blocks), _calls(others)),
        "other blocks": _count_of_others(blocks) == _count_of_others(others),
        "order": recording.parent.name not in FORMATS_WITH_ORDER
        or [block["type"] for block in blocks] == [block["type"] for block in others],
    }
    return [name for name, is_so in is_same.items() if not is_so]


def _texts(blocks: Blocks) -> dict[tuple[int, str], str]:
    """All text of each kind, by choice."""
    found: defaultdict[tuple[int, str], str] = defaultdict(str)
    for block in blocks:
        if block["type"] in TEXTS and block.get("text"):
            found[block.get("choice") or 0, block["type"]] += block["text"]
    return dict(found)


def _calls(blocks: Blocks) -> list[tuple[str | None, tuple[Any, ...]]]:
    """The id of each call, and its contents."""
    return [
        (block.get("id"), (block.get("choice") or 0, block.get("name") or "", block.get("arguments") or ""))
        for block in blocks
        if block["type"] == "tool_call"
    ]


def _are_same_calls(want: list[Any], got: list[Any]) -> bool:
    """Whether they are the same, with the same ids if the format had any."""
    ids = zip(want, got, strict=False)
    return [call for _, call in want] == [call for _, call in got] and all(not w or w == g for (w, _), (g, _) in ids)


def _count_of_others(blocks: Blocks) -> int:
    return sum(block["type"] not in (*TEXTS, "tool_call") for block in blocks)


def _without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
