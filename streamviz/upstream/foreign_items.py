"""What the translated lane gave a responses client, as OpenAI takes it back.

Codex keeps a conversation when a person chooses another model. OpenAI refuses a request that contains what it cannot
decrypt, or thinking that it does not know. Other addresses get all of it: another streamviz may be there.
"""

import re
from operator import is_
from urllib.parse import urlsplit

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.wire import OPENAI_RESPONSES
from streamviz.core.wire.compaction import COMPACTION
from streamviz.core.wire.signed_thinking import is_marked
from streamviz.upstream.summaries import told_summary
from streamviz.upstream.targets import Target

THINKING = "thinking of another vendor's model"
_HOSTS = (".openai.com", ".azure.com")
# The ids of translated reasoning, which end with its place in the answer; OpenAI's are one word.
_TRANSLATED = re.compile(r"rs_\w+_\d+")


def for_openai(target: Target, fields: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """A request's fields as OpenAI takes them, and what was left out; the same object if nothing had to change."""
    is_openais = f".{urlsplit(target.url).hostname}".endswith(_HOSTS)
    if target.wire_format != OPENAI_RESPONSES.name or not is_openais:
        return fields, ()
    items = as_list(fields.get("input"))
    kept = [_known(item) for item in items if not _is_foreign_thinking(as_object(item))]
    left_out = (THINKING,) if len(kept) < len(items) else ()
    is_same = not left_out and all(map(is_, kept, items))
    return (fields if is_same else {**fields, "input": kept}), left_out


def _known(item: object) -> object:
    """An item of the input; a summary that only other models can read is told in words."""
    details = as_object(item)
    return (details.get("type") == COMPACTION and told_summary(details)) or item


def _is_foreign_thinking(item: JsonObject) -> bool:
    if item.get("type") != "reasoning":
        return False
    sealed = item.get("encrypted_content")
    return is_marked(sealed) or (not sealed and _TRANSLATED.fullmatch(as_text(item.get("id"))) is not None)
