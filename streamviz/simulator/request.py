"""Reads requests: the user's last message determines the seed, the prompt's length the number of input tokens."""

import hashlib

import msgspec

from streamviz.simulator.errors import ProviderError
from streamviz.simulator.reply import JsonObject

CHARACTERS_A_TOKEN = 4
# The name of a request's turns, in any of the formats.
_TURNS = ("messages", "input", "contents")
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are not JSON, not UTF-8, or nested too deeply."""


def read_request(body: bytes, needed: str, beside: JsonObject | None = None) -> JsonObject:
    """The request's JSON object, with the members of `beside` added. Raises ProviderError (400) if it is not one, or
    lacks `model` or the `needed` key."""
    try:
        request: object = msgspec.json.decode(body)
    except NOT_JSON as error:
        raise ProviderError.bad_request(f"The body is not valid JSON: {error}.") from error
    if not isinstance(request, dict):
        raise ProviderError.bad_request("The body is not a JSON object.")
    request |= beside or {}
    if not isinstance(request.get("model"), str):
        raise ProviderError.bad_request("You must provide a model, as a string.", "model")
    if needed and needed not in request:
        raise ProviderError.bad_request(f"Missing required parameter: '{needed}'.", needed)
    return request


def seed_of(request: JsonObject) -> int:
    """A seed from the user's last message and the number of turns, in any of the formats.

    So an agent that comes back with the results of its tools gets a different answer from the one that asked for them.
    """
    turns = _turns_in(request)
    of_user = [turn for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
    said = [turn.get("content", turn.get("parts")) for turn in of_user]
    text = f"{len(turns)} {_text_of(said[-1]) if said else ''}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])


def answers_in(request: JsonObject) -> int:
    """How many of the request's turns are the model's."""
    turns = _turns_in(request)
    return sum(isinstance(turn, dict) and turn.get("role") in ("assistant", "model") for turn in turns)


def input_tokens(request: JsonObject) -> int:
    """About how many tokens the prompt has: messages, instructions and tools."""
    keys = (*_TURNS, "system", "instructions", "systemInstruction", "tools")
    said = [request.get(key) for key in keys]
    return 3 + sum(len(msgspec.json.encode(part)) for part in said if part) // CHARACTERS_A_TOKEN


def _turns_in(request: JsonObject) -> list[object]:
    """The request's turns; a text alone is one of the user's."""
    turns = next((request[name] for name in _TURNS if name in request), None)
    return turns if isinstance(turns, list) else [{"role": "user", "content": turns}]


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return ""
