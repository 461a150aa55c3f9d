"""What of upstream's own words is kept in an answer of OpenAI's chat that verdicts change elsewhere.

Providers repeat a text or a call in fields that nobody reads, so a field is kept only where it is known what it belongs
to, and where that goes out unchanged.
"""

from collections.abc import Set

from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, objects
from streamviz.core.wire.openai_chat_thinking import BEDROCKS, SPECIFIC, THINKING_FIELDS, is_same, text_of

# Of a chunk, or of a whole answer. What was found on the web belongs to the content.
_TOP = frozenset(
    "id object created model system_fingerprint service_tier provider prompt_filter_results usage x_groq".split()
)
_FOUND = frozenset({"citations", "search_results"})
_CHOICE = frozenset("index finish_reason native_finish_reason content_filter_results".split())
# The fields that say a block, and the kind of it.
_WORDS = {
    "content": BlockKind.CONTENT,
    "refusal": BlockKind.REFUSAL,
    "reasoning_content": BlockKind.THINKING,
    "reasoning": BlockKind.THINKING,
    "reasoning_text": BlockKind.THINKING,
    "thinking": BlockKind.THINKING,
    "reasoning_details": BlockKind.THINKING,
    "thinking_blocks": BlockKind.THINKING,
    **dict.fromkeys(BEDROCKS, BlockKind.THINKING),
    "images": BlockKind.MEDIA,
}
# The fields that repeat blocks or describe them.
_ABOUT = {
    "annotations": frozenset({BlockKind.CONTENT}),
    "citations": frozenset({BlockKind.CONTENT}),
    "citationsContent": frozenset({BlockKind.CONTENT}),
    "search_results": frozenset({BlockKind.CONTENT}),
    "audio": frozenset({BlockKind.CONTENT, BlockKind.MEDIA}),
    "thought_signatures": frozenset({BlockKind.THINKING}),
}
_SPECIFIC = frozenset({"annotations", "citations", "citationsContent", "thought_signatures", *THINKING_FIELDS})


def kept_top(payload: JsonObject, changed: Set[BlockKind]) -> JsonObject:
    """The fields beside the choices; `changed` are the kinds of which verdicts changed something in any choice."""
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


def kept_words(words: JsonObject, thinking: str, touched: Set[BlockKind], changed: Set[BlockKind]) -> JsonObject:
    """The fields of a message or a delta without its calls.

    `touched` are the kinds of which verdicts change something in it, `changed` those of which they have changed
    something in its choice. `thinking` is the thinking that was read in it: what repeats it has to say the same.
    """
    kept: JsonObject = {}
    for key, value in words.items():
        if key == SPECIFIC:
            specific = {name: inner for name, inner in as_object(value).items() if name in _SPECIFIC}
            value = kept_words(specific, thinking, touched, changed)
            if not value:
                continue
        if _is_kept(key, touched, changed) and (key not in THINKING_FIELDS or _repeats(value, thinking)):
            kept[key] = value
    return kept


def _is_kept(key: str, touched: Set[BlockKind], changed: Set[BlockKind]) -> bool:
    if key in _WORDS:
        return _WORDS[key] not in touched
    return key in ("role", SPECIFIC) or (key in _ABOUT and changed.isdisjoint(_ABOUT[key]))


def _repeats(value: object, thinking: str) -> bool:
    said = text_of(value)
    return not said or is_same(said, thinking)


def _spells(logprobs: object, words: JsonObject, changed: Set[BlockKind]) -> bool:
    """Whether the tokens are those of the text, and of nothing else."""
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
    """A token's own bytes where it has them: a character can be several tokens."""
    numbers = [number for number in as_list(token.get("bytes")) if isinstance(number, int) and 0 <= number < 256]
    return bytes(numbers) if numbers else as_text(token.get("token")).encode("utf-8", "replace")
