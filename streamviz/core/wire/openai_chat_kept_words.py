"""What is kept of a message or delta of OpenAI's chat if verdicts change something in its answer."""

from collections.abc import Set

from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object
from streamviz.core.wire.openai_chat_thinking import BEDROCKS, SPECIFIC, THINKING_FIELDS, is_same, text_of

# Fields that contain blocks, and the kind of those.
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


def kept_words(words: JsonObject, thinking: str, touched: Set[BlockKind], changed: Set[BlockKind]) -> JsonObject:
    """The fields of a message or a delta without its calls.

    `touched` are the kinds of block that verdicts change in it, `changed` those that they have changed in its choice.
    `thinking` is the thinking that was read in it: fields that repeat it have to say the same.
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
