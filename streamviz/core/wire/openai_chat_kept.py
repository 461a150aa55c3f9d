"""Which of upstream's fields are kept in an answer of OpenAI's chat if verdicts change something else in it.

Providers repeat a text or a call in fields that nobody reads, so a field is kept only if it is known what it belongs
to, and if that goes out unchanged.
"""

from collections.abc import Set

from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, objects

# Of a chunk, or of a whole answer. Web search results belong to the content.
_TOP = frozenset(
    "id object created model system_fingerprint service_tier provider prompt_filter_results usage x_groq".split()
)
_FOUND = frozenset({"citations", "search_results"})
_CHOICE = frozenset("index finish_reason native_finish_reason content_filter_results usage".split())


def kept_top(payload: JsonObject, changed: Set[BlockKind]) -> JsonObject:
    """The fields beside the choices; `changed` are the kinds of block that verdicts changed in any choice."""
    names = _TOP if BlockKind.CONTENT in changed else _TOP | _FOUND
    kept = {key: value for key, value in payload.items() if key in names}
    if "x_groq" in kept:
        kept["x_groq"] = {key: value for key, value in as_object(kept["x_groq"]).items() if key in ("id", "usage")}
    return kept


def kept_choice(choice: JsonObject, words: JsonObject, reason: object, changed: Set[BlockKind]) -> JsonObject:
    """The fields beside the message or the delta, which is `words`; `reason` is the finish_reason as it goes out."""
    kept = {key: value for key, value in choice.items() if key in _CHOICE}
    if reason != choice.get("finish_reason"):
        kept.pop("native_finish_reason", None)
        kept["finish_reason"] = reason
    if "logprobs" in choice and _spells(choice["logprobs"], words, changed):
        kept["logprobs"] = choice["logprobs"]
    return kept


def _spells(logprobs: object, words: JsonObject, changed: Set[BlockKind]) -> bool:
    """Whether the tokens spell the text, and nothing else."""
    if logprobs is None:
        return True
    names = {"content": BlockKind.CONTENT, "refusal": BlockKind.REFUSAL}
    tokens = as_object(logprobs)
    return tokens.keys() <= names.keys() and all(
        kind not in changed and _text_of(tokens.get(name)) in ("", as_text(words.get(name)))
        for name, kind in names.items()
    )


def _text_of(tokens: object) -> str:
    return b"".join(map(_bytes_of, objects(tokens))).decode("utf-8", "replace")


def _bytes_of(token: JsonObject) -> bytes:
    """A token's own bytes, if it has them: a character can be split into several tokens."""
    numbers = [number for number in as_list(token.get("bytes")) if isinstance(number, int) and 0 <= number < 256]
    return bytes(numbers) if numbers else as_text(token.get("token")).encode("utf-8", "replace")
