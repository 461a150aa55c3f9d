"""Generated evasions: answers that try to get something past a policy, and where it is in what a client gets.

Each is generated from a seed, with the formats' vocabulary but no knowledge of our code. What counts is what the SDKs
hand out (`clients.py`).
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.core.clients import Leaf, handed_out, readings
from tests.core.made_streams import BODIES, STREAMS, Chance
from tests.core.mutations import mutate
from tests.core.words import GEMINI, OTHERS, words_of

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")
SSE, JSON = "text/event-stream", "application/json"
TOOL, MARK = Chance.tool, Chance.mark
SHELL, HARM = "bash", "rm -rf /etc"

# What the formats' documentation calls a text, or something that accompanies one, and what it calls a call.
_TEXTS = re.compile(
    r"text|thinking|redacted_thinking|(text|thinking|signature|citations)_delta|output_text|refusal|summary_text"
    r"|reasoning|reasoning_text|message|message_start|message_delta|[a-z]+_location"
    r"|response\.(output_text|refusal|reasoning|content_part)[a-z_.]*|reasoning\.[a-z]+"
)
_CALLS = re.compile(
    r"[a-z0-9_]*_call|[a-z0-9_]*tool_use|function|custom|input_json_delta|mcp_approval_request"
    r"|response\.[a-z_]*(arguments|call_input|call_code|call_command)[a-z_.]*|tool_calls\.[a-z_.]*"
)
_TEXT_MEMBERS = frozenset(
    "content refusal reasoning_content reasoning reasoning_details thinking thinking_blocks logprobs".split()
)


def _google(names: str) -> list[str]:
    """Google's names, and their spelling in its Python SDK."""
    return [*names.split(), *(re.sub("(?=[A-Z])", "_", name).lower() for name in names.split())]


_CALL_MEMBERS = frozenset(
    ["tool_calls", "function", "custom", "parsed_arguments", *_google("functionCall toolCall executableCode")]
)
# Citations and signatures, and in Google's answers tool results and media: no policy judges them.
_UNREAD = frozenset(
    "citations search_results annotations citation annotation logprobs signature".split()
    + _google(
        "citationMetadata groundingMetadata urlContextMetadata logprobsResult thoughtSignature inlineData fileData"
        " functionResponse toolResponse codeExecutionResult"
    )
)
# What an answer says about itself: policies for calls look for no calls there.
_ENVELOPE = frozenset([*OTHERS.envelope, "tool_choice", *_google(" ".join(GEMINI.envelope))])
_PROVIDERS = frozenset(
    "server_tool_use mcp_tool_use mcp_call image_generation_call web_search_call code_interpreter_call"
    " file_search_call".split()
    + _google("toolCall executableCode")
)
_GIVEN = frozenset({"arguments", "input", "parameters", "action", "parsed_arguments", "partial_json"})


_QUOTED = re.compile('"([^"]*)"')


class Evasion(NamedTuple):
    """An answer in frames, and whether its request asked for a stream; `kind` is its content type."""

    format: str
    frames: tuple[bytes, ...]
    is_streaming: bool
    kind: str

    @property
    def data(self) -> bytes:
        return b"".join(self.frames)


def evasion(format: str, seed: str, *, is_call: bool, tool: str = TOOL, mark: str = MARK) -> Evasion:
    """An evasion that hides a call of `tool` with `mark` in it, or a text with `mark`."""
    chance = Chance(f"{format} {seed}")
    chance.tool, chance.mark, chance.words = tool, mark, words_of(format)
    is_streaming = chance.random() < 0.8
    pieces = STREAMS[format](chance, is_call) if is_streaming else [BODIES[format](chance, is_call)]
    mutate(pieces, chance, is_call)
    is_asked = is_streaming if chance.random() < 0.95 else not is_streaming
    if not is_streaming and chance.random() < 0.93:
        return Evasion(format, (_dumped(pieces[0], chance).encode(),), is_asked, JSON)
    frames = [_framed(format, piece, chance) for piece in pieces]
    if chance.random() < 0.5 and format in ("openai_chat", "openai_responses"):
        frames.append(b"data: [DONE]\n\n")
    _frame_oddly(frames, chance)
    return Evasion(format, tuple(frames), is_asked, JSON if chance.random() < 0.02 else SSE)


# Framing


def _framed(format: str, payload: Any, chance: Chance) -> bytes:
    data = _dumped(payload, chance)
    end = chance.choice(["\n"] * 12 + ["\r\n", "\r"])
    name = str(payload.get("type") or "") if isinstance(payload, dict) else ""
    if chance.random() < 0.02:
        name = chance.choice(["error", "ping", "message_start", "content_block_delta", "response.output_text.delta"])
    has_names = format in ("anthropic_messages", "openai_responses")
    lines = [f"event: {name}"] if has_names and chance.random() < 0.98 else []
    if chance.random() < 0.03 and ", " in data:
        # JSON may have a line break after a comma.
        at = chance.choice([found.end() for found in re.finditer(", ", data)])
        lines += ["data: " + data[:at], "data: " + data[at:]]
    else:
        lines.append(chance.choice(["data: "] * 12 + ["data:", "data:  "]) + data)
    if chance.random() < 0.04:
        odd = [": ping", "id: 5", "retry: 1", "data", "DATA: {}", " data: {}", "event", "\u2028data: {}", "event: x"]
        lines.insert(chance.randint(0, len(lines)), chance.choice(odd))
    return end.join([*lines, "", ""]).encode("utf-8", "surrogatepass")


def _frame_oddly(frames: list[bytes], chance: Chance) -> None:
    if chance.random() < 0.03:
        frames[0] = b"\xef\xbb\xbf" + frames[0]
    if chance.random() < 0.05:
        frames[-1] = frames[-1].rstrip(b"\r\n")
    if chance.random() < 0.03:
        frames.insert(chance.randint(0, len(frames)), chance.choice([b": \n\n", b"\n", b"\r\n\r\n", b"data:\n\n"]))
    if chance.random() < 0.02:
        frames.insert(chance.randint(0, len(frames)), b"data: [DONE]\n\n")


def _dumped(payload: Any, chance: Chance) -> str:
    text = "".join(_json(payload, chance, 0.004)) if chance.random() < 0.3 else _plain(payload, chance)
    if chance.random() < 0.05:
        word = chance.choice([chance.tool, chance.mark, '"type"', '"text"', '"name"', '"arguments"'])
        quote = '"' if word.startswith('"') else ""
        text = text.replace(word, quote + "".join(f"\\u{ord(letter):04x}" for letter in word.strip('"')) + quote)
    return text


def _plain(payload: Any, chance: Chance) -> str:
    return json.dumps(payload, ensure_ascii=chance.random() < 0.5)


def _json(value: Any, chance: Chance, share: float) -> Iterator[str]:
    """JSON in which a key is sometimes repeated, with another value before or after."""
    if isinstance(value, dict):
        members = list[str]()
        for name, member in value.items():
            told = f"{json.dumps(name)}: {''.join(_json(member, chance, share))}"
            other = chance.choice(['"x"', "null", "{}", "[]", f'"{chance.tool}"', "0"])
            twice = [told, f"{json.dumps(name)}: {other}"]
            chance.shuffle(twice)
            members += twice if chance.random() < share * 5 else [told]
        yield "{" + ", ".join(members) + "}"
    elif isinstance(value, list):
        yield "[" + ", ".join("".join(_json(each, chance, share)) for each in value) + "]"
    else:
        yield json.dumps(value)


# What reaches a client


def calls_of(found: Iterable[Leaf], tool: str) -> list[Leaf]:
    """Where a client gets the tool's name, except in a text or in a tool's arguments."""
    return [
        leaf
        for leaf in found
        if leaf.text == tool
        and leaf.path[-1] == "name"
        and not (_is_text(leaf) or _is_of_answer(leaf) or _is_given(leaf))
    ]


def given(found: Iterable[Leaf], mark: str) -> list[Leaf]:
    """Where a client gets the mark, except in a text."""
    return [leaf for leaf in anywhere(found, mark) if not _is_text(leaf) and not _is_of_answer(leaf)]


def said(found: Iterable[Leaf], mark: str) -> list[Leaf]:
    """Where a client gets the mark, except in a call."""
    return [leaf for leaf in anywhere(found, mark) if not _may_be_call(leaf) and mark in leaf.text]


def anywhere(found: Iterable[Leaf], mark: str) -> list[Leaf]:
    return [leaf for leaf in found if not _UNREAD.intersection(leaf.path) and _has(leaf, mark)]


def is_providers(leaf: Leaf) -> bool:
    """Whether it is within a call that the provider runs itself."""
    return any(kind in _PROVIDERS for kind in leaf.types) or bool(_PROVIDERS.intersection(leaf.path))


def _has(leaf: Leaf, mark: str) -> bool:
    """Whether the mark is in a text, in any case; in a call's raw arguments also if it is escaped."""
    is_raw = _is_call(leaf) and not _is_given(leaf)
    told = readings(leaf.text) if is_raw else [leaf.text]
    return any(mark in reading or mark in reading.casefold() for reading in told)


def _is_given(leaf: Leaf) -> bool:
    """Whether it is within a tool's arguments."""
    around = leaf.path[:-1]
    return bool(_GIVEN.intersection(around)) or (bool(_CALL_MEMBERS.intersection(around)) and "args" in around)


def _is_of_answer(leaf: Leaf) -> bool:
    """Whether a text belongs to the answer as such and not to a part of it: in its envelope, or in a member of an event
    or of a response that no SDK has a field for."""
    if _ENVELOPE.intersection(leaf.path) or _UNREAD.intersection(leaf.path):
        return True
    if leaf.types == ("error",) and len(leaf.path) == 1:
        return True  # an event whose error is in members of its own
    return leaf.known < len(leaf.path) and leaf.path[: leaf.known] in ((), ("response",), ("message",))


def _is_text(leaf: Leaf) -> bool:
    nearest = leaf.types[-1] if leaf.types else ""
    if _CALL_MEMBERS.intersection(leaf.path):
        return False
    return bool(_TEXTS.fullmatch(nearest)) or (not leaf.types and bool(_TEXT_MEMBERS.intersection(leaf.path)))


def _is_call(leaf: Leaf) -> bool:
    nearest = leaf.types[-1] if leaf.types else ""
    return bool(_CALLS.fullmatch(nearest)) or bool(_CALL_MEMBERS.intersection(leaf.path))


def _may_be_call(leaf: Leaf) -> bool:
    """Whether it is within a call, or within the arguments of something that no documentation calls a text."""
    return _is_call(leaf) or (bool(leaf.types) and not _is_text(leaf) and bool(_GIVEN.intersection(leaf.path)))


def may_have(data: bytes, mark: str) -> bool:
    """Whether a client might get the mark, in any case: whole, or in pieces that are, begin or end some text of the
    answer. Checking this takes a hundredth of the time of reading the answer with an SDK."""
    # In JSON within JSON, quotes are escaped.
    text = data.decode("utf-8", "replace").casefold().replace('\\"', "\0")
    if "\\" in text or "\ufffd" in text:
        return True  # escapes may themselves be escaped, and split anywhere
    # The first quote may belong to something else, so try both parities.
    texts = set(_QUOTED.findall(text)) | set(_QUOTED.findall(text.partition('"')[2]))
    mark = mark.casefold()
    if mark in text or any("\n" in each or "\r" in each for each in texts):
        return True
    ends = {0}
    for at in range(len(mark)):
        if at not in ends:
            continue
        for end in range(at + 1, len(mark) + 1):
            piece = mark[at:end]
            is_first, is_last = at == 0, end == len(mark)
            if any(_is_piece(each, piece, is_first=is_first, is_last=is_last) for each in texts):
                ends.add(end)
    return len(mark) in ends


def _is_piece(text: str, piece: str, *, is_first: bool, is_last: bool) -> bool:
    if is_first:
        return text.endswith(piece)
    return text.startswith(piece) if is_last else text == piece


def reached(made: Evasion, answer: bytes | None = None) -> list[Leaf]:
    """What a client gets from an evasion, or from `answer`, which the proxy made of it."""
    data = made.data if answer is None else answer
    return handed_out(made.format, data, is_streaming=made.is_streaming, kind=made.kind)
