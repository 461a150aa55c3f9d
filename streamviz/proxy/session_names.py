"""What clients call their sessions: in headers and fields of their own, looked up in one order.

The client's own header comes first, then what it says in the body. What each client sends was seen on the wire.
"""

import re
from collections.abc import Callable, Iterator

from streamviz.core.json_value import JsonObject, as_object, as_text, decode

# By preference: ours, Claude Code's, Codex's (the server has its older `session_id` under this name), opencode's two.
HEADERS = (
    b"x-session-id",
    b"x-claude-code-session-id",
    b"session-id",
    b"x-opencode-session",
    b"x-session-affinity",
)
_LONGEST_USER_ID = 10_000
_IN_USER_ID = re.compile(r"_session_([0-9a-fA-F-]{36})$")


def name_of(header: Callable[[bytes], str], request: JsonObject) -> str:
    """The session's name as the client gives it, empty where it gives none. `header` looks one up in the request."""
    return next((name for told in _told(header, request) if (name := told.strip())), "")


def _told(header: Callable[[bytes], str], request: JsonObject) -> Iterator[str]:
    for name in HEADERS:
        yield header(name)
    metadata = as_object(request.get("metadata"))
    yield as_text(metadata.get("session_id"))
    yield _in_user_id(as_text(metadata.get("user_id")))
    yield as_text(as_object(request.get("client_metadata")).get("session_id"))
    conversation = request.get("conversation")
    yield as_text(conversation) or as_text(as_object(conversation).get("id"))
    yield as_text(request.get("prompt_cache_key"))


def _in_user_id(user_id: str) -> str:
    """Claude Code's session: behind `_session_`, or since 2.1.78 a member of a JSON object."""
    if (found := _IN_USER_ID.search(user_id)) is not None:
        return found.group(1)
    if not user_id.startswith("{") or len(user_id) > _LONGEST_USER_ID:
        return ""
    try:
        return as_text(as_object(decode(user_id)).get("session_id"))
    except ValueError:
        return ""
