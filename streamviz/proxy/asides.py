"""What an agent asks for itself, beside its conversation: a title, a summary, what a person may type next, and so on.

Such a request repeats the conversation or its beginning, and the conversation does not go on from its answer.
"""

import re
from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, objects
from streamviz.proxy.session_names import Helper

# With what opencode and Kilo CLI ask for a title, and Claude Code tries a model and has prompts cached.
OPENINGS = r"Generate a title for this conversation:?|quota|Warmup"
# And with what Claude Code asks for a title.
_FIRST = re.compile(rf"\s*(?:(?:{OPENINGS})\s*$|<session>\n)")
# With what Claude Code, Qwen Code and Gemini CLI end requests that have the whole conversation.
_LAST = re.compile(
    r"\[SUGGESTION MODE: |You are now acting as the memory extraction subagent|Managed memory has TWO directories"
    r"|The user stepped away and is coming back|<system-reminder>This is a side question from the user"
    r"|Analyze \*only\* the content and structure of your immediately preceding response"
    r"|CRITICAL: Respond with TEXT ONLY\. Do NOT call any tools\."
)
_MOST_FIRST = 30
ASIDE = Helper("aside", "")


def aside_of(request: JsonObject, turns: str) -> Helper | None:
    """The agent that asks beside the conversation, as if it were another than the main one; None if nobody does."""
    return ASIDE if is_aside(request, turns) else None


def is_aside(request: JsonObject, turns: str) -> bool:
    """Whether a request is one of these; `turns` is its field for what was said."""
    said = as_list(request.get(turns))
    if any(map(_LAST.match, _texts(said[-1:]))):
        return True
    if request.get("tools"):
        return False
    asked = [item for item in said[:_MOST_FIRST] if (as_object(item).get("role") or "user") == "user"]
    return _FIRST.match(next(_texts(asked[:1]), "")) is not None


def _texts(items: list[object]) -> Iterator[str]:
    for item in map(as_object, items):
        told = item.get("content") or item.get("parts")
        if isinstance(told, str):
            yield told
        yield from (as_text(part.get("text")) for part in objects(told))
