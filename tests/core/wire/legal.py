"""What a client of each format may rely on, up to the last event."""

import re
from collections.abc import Sequence
from typing import Any

_KINDS = {"text", "functionCall", "executableCode", "codeExecutionResult", "inlineData", "toolCall", "toolResponse"}
_ENDS = ("response.completed", "response.incomplete", "response.failed")


def check(format: str, payloads: Sequence[Any]) -> None:
    checks = {"anthropic_messages": check_messages, "openai_responses": check_responses, "gemini": check_gemini}
    checks.get(format, check_chat)(payloads)


def check_chat(payloads: Sequence[Any]) -> None:
    """The indices of a choice's calls count up from 0, and each call's first piece has its type."""
    known: dict[int, int] = {}
    for choice in (choice for payload in payloads for choice in payload.get("choices", [])):
        for call in choice["delta"].get("tool_calls", []):
            count = known.get(choice["index"], 0)
            assert call["index"] <= count
            if call["index"] == count:
                assert call["type"] == "function"
                known[choice["index"]] = count + 1


def check_gemini(payloads: Sequence[Any]) -> None:
    """Each candidate is in its place, has parts of one kind each, and ends once; nothing follows an error."""
    ended: set[int] = set()
    for number, payload in enumerate(payloads):
        if "error" in payload:
            assert all("error" in later for later in payloads[number:])
            continue
        for place, candidate in enumerate(payload.get("candidates", [])):
            assert candidate.get("index", place) == place
            parts = [part for part in candidate.get("content", {}).get("parts", []) if part.get("text") != ""]
            assert not (parts and place in ended)
            assert all(len(_KINDS & part.keys()) == 1 for part in parts)
            if "finishReason" in candidate:
                ended.add(place)


def check_messages(payloads: Sequence[Any]) -> None:
    """One start, consecutive blocks with indices from 0, no text after a call, one end and nothing after it."""
    words = [payload["type"] for payload in payloads if payload["type"] != "ping"]
    if "error" in words:
        assert words.index("error") == len(words) - 1
        return
    assert words[0] == "message_start"
    assert words.count("message_start") == words.count("message_stop") == 1
    assert words[-1] == "message_stop"
    if "message_delta" in words:
        assert words[-2] == "message_delta"
        assert words.count("message_delta") == 1
    indices = [payload["index"] for payload in payloads if payload["type"] == "content_block_start"]
    assert indices == list(range(len(indices)))
    shape = "".join(word.removeprefix("content_block_")[2] for word in words if word.startswith("content_block_"))
    assert re.fullmatch("(al*o)*", shape), shape
    _check_blocks(payloads)
    types = [payload["content_block"]["type"] for payload in payloads if payload["type"] == "content_block_start"]
    assert "text" not in types[types.index("tool_use") :] if "tool_use" in types else True


def _check_blocks(payloads: Sequence[Any]) -> None:
    current = -1
    for payload in payloads:
        if payload["type"] == "content_block_start":
            current = payload["index"]
        elif payload["type"].startswith("content_block_"):
            assert payload["index"] == current


def check_responses(payloads: Sequence[Any]) -> None:
    """Numbers without gaps; items and parts begin and end once, and are the same at their end and in the whole."""
    first = payloads[0]["sequence_number"]
    assert [payload["sequence_number"] for payload in payloads] == list(range(first, first + len(payloads)))
    assert [payload["type"] for payload in payloads[:2]] == ["response.created", "response.in_progress"]
    assert [payload["type"] for payload in payloads if payload["type"] in _ENDS] == [payloads[-1]["type"]]
    added = [(payload["output_index"], payload["item"]["id"]) for payload in payloads if _is(payload, "item.added")]
    assert [index for index, _ in added] == list(range(len(added)))
    assert len({id for _, id in added}) == len(added)
    done = {payload["output_index"]: payload["item"] for payload in payloads if _is(payload, "item.done")}
    assert sorted((index, item["id"]) for index, item in done.items()) == added
    output = payloads[-1]["response"]["output"]
    assert [_readable(item) for item in output] == [_readable(done[index]) for index in sorted(done)]
    for payload in payloads:
        if "item_id" in payload:
            assert added[payload["output_index"]] == (payload["output_index"], payload["item_id"])
    _check_parts(payloads)


def _readable(item: Any) -> Any:
    """Encrypted content is different each time that it is sent."""
    return {key: value for key, value in item.items() if key != "encrypted_content"}


def _check_parts(payloads: Sequence[Any]) -> None:
    """Deltas and ends are between the part's start and its end, and the deltas add up to the final text."""
    texts: dict[tuple[Any, ...], str] = {}
    for payload in payloads:
        word = payload["type"].split(".")[1:]
        if len(word) != 2 or "item_id" not in payload:
            continue
        key = (payload["item_id"], payload.get("content_index"), payload.get("summary_index"), word[0])
        if word[1] == "delta":
            texts[key] = texts.get(key, "") + payload["delta"]
        elif word[1] == "done" and "part" not in payload:
            fields = ("text", "refusal", "arguments", "input", "code", "command", "diff", "output")
            field = next(field for field in fields if field in payload)
            assert payload[field] == texts.get(key, "")


def _is(payload: Any, word: str) -> bool:
    return bool(payload["type"] == f"response.output_{word}")
