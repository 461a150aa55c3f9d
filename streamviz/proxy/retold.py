"""What another agent said, did and was answered, where it is told to the next one in words.

Google's ADK does so when an agent takes over from another, or follows it in a sequence: each of the other's turns
becomes parts of a user's turn, the first of which begins with `For context:`.
"""

import json
import re
from contextlib import suppress

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, decode_strictly

_OPENING = "For context:"
_TOLD = re.compile(
    r"\[[^\]\n]{1,200}\] (?:(?P<said>said)|called tool `(?P<tool>[^`\n]{1,200})` with parameters"
    r"|(?:`[^`\n]{1,200}` tool|tool `[^`\n]{1,200}`) returned result):\s(?P<what>.*)",
    re.DOTALL,
)
# Newer versions put this around what they quote.
_BEGIN, _END = "<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n", "\n<<<END_QUOTED_AGENT_CONTENT>>>"
# Python's strings and names that JSON writes in another way.
_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?:None|True|False)\b""")
_NAMES = {"None": "null", "True": "true", "False": "false"}
# How many parts of an item are read, and how much of arguments and results, which share that evenly.
_MOST_PARTS = 64
_MOST_CHARACTERS = 4_000


def as_first_said(item: JsonObject) -> list[JsonObject]:
    """The turns that an item consists of, those that it tells of as they first were: LiteLLM joins the turns of a user
    for Anthropic. Any other item as it is."""
    field = "parts" if "parts" in item else "content"
    parts = as_list(item.get(field))[:_MOST_PARTS] if item.get("role") == "user" else []
    # ADK for Node leaves thinking among what it tells.
    parts = [part for part in parts if as_object(part).get("thought") is not True]
    texts = [_text_of(part) for part in parts]
    if not any(text.startswith(_OPENING) for text in texts):
        return [item]
    told = [_TOLD.fullmatch(text) for text in texts]
    most = _MOST_CHARACTERS // len(parts)
    turns: list[JsonObject] = []
    at = 0
    while at < len(parts):
        tells = texts[at].startswith(_OPENING) and at + 1 < len(parts) and told[at + 1] is not None
        begin = at + 1 if tells else at
        at = begin + 1
        while at < len(parts) and (told[at] is not None if tells else not texts[at].startswith(_OPENING)):
            at += 1
        turns.append(_first_said(told[begin:at], field, most) if tells else {**item, field: parts[begin:at]})
    return turns


def _first_said(told: list[re.Match[str] | None], field: str, most: int) -> JsonObject:
    """The turn that these parts tell of."""
    parts = [_part(each, field, most) for each in told if each is not None]
    is_answer = any(each is not None and (each["said"] or each["tool"]) for each in told)
    return {"role": "model" if is_answer else "user", "parts": parts}


def _text_of(part: object) -> str:
    return as_text(as_object(part).get("text"))


def _part(told: re.Match[str], field: str, most: int) -> JsonObject:
    """A part in Gemini's format, with a result as ADK sends it in the format that has this field. Arguments and results
    of more than `most` characters stay text."""
    what = told["what"]
    if what.startswith(_BEGIN) and what.endswith(_END):
        what = what[len(_BEGIN) : -len(_END)]
    if told["said"]:
        return {"text": what}
    if told["tool"]:
        return {"functionCall": {"name": told["tool"], "args": _value(what, most)}}
    result = _value(what, most)
    is_gemini = field == "parts"
    return {"functionResponse": {"response": result}} if is_gemini else {"text": json.dumps(result, ensure_ascii=False)}


def _value(text: str, most: int) -> object:
    """Arguments or a result, as ADK for Node writes them (JSON) or that for Python (literals); else the text."""
    if len(text) > most:
        return text
    with suppress(ValueError):
        return decode_strictly(text)
    with suppress(ValueError):
        return decode_strictly(_LITERAL.sub(_as_json, text))
    return text


def _as_json(literal: re.Match[str]) -> str:
    told = literal[0]
    return _NAMES.get(told) or '"' + told[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
