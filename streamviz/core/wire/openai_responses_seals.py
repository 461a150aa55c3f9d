"""What LiteLLM has in `encrypted_content` for models of Anthropic's: their own blocks as JSON, which anyone can read.

These are the signed thinking of a reasoning item, and the summary of a compaction item.
"""

from streamviz.core.json_value import JsonObject, as_text, decode_strictly, has_name_twice, objects
from streamviz.core.wire.beside import has_text, is_small, member_names
from streamviz.core.wire.openai_chat_thinking import is_same, text_of

SEAL = "encrypted_content"
_THOUGHTS = {"thinking": member_names("type thinking signature"), "redacted_thinking": member_names("type data")}
_SUMMARY = member_names(f"type content {SEAL}")


def is_own_thinking(item: JsonObject) -> bool:
    """Whether what is sealed in an item is the item's own thinking again, as its model signed it."""
    sealed = _blocks_in(item)
    blocks = objects(sealed)
    if item.get("type") != "reasoning" or not (blocks and len(blocks) == len(sealed) and all(map(_is_thought, blocks))):
        return False
    said = "".join(as_text(block.get("thinking")) for block in blocks)
    return not said or any(is_same(said, text_of(item.get(key))) for key in ("content", "summary"))


def summary_in(item: JsonObject) -> str:
    """The summary that is sealed in a compaction item; empty if it has none that can be read, or more than that."""
    sealed = _sealed(item) if item.get("type") == "compaction" else None
    if not isinstance(sealed, dict) or sealed.get("type") != "compaction" or not _SUMMARY.issuperset(sealed):
        return ""
    return "" if has_text(sealed.get(SEAL)) else as_text(sealed.get("content"))


def _is_thought(block: JsonObject) -> bool:
    known = _THOUGHTS.get(as_text(block.get("type")), frozenset())
    return all(
        isinstance(value, str) and (name == "thinking" or not has_text(value)) if name in known else is_small(value)
        for name, value in block.items()
    )


def _blocks_in(item: JsonObject) -> list[object]:
    sealed = _sealed(item)
    return sealed if isinstance(sealed, list) else []


def _sealed(item: JsonObject) -> object:
    text = as_text(item.get(SEAL))
    try:
        value = decode_strictly(text) if text.startswith(("[", "{")) else None
    except ValueError:
        return None
    return None if has_name_twice(text.encode(), value) else value
