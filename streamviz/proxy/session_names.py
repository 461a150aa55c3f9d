"""Names that clients give their sessions: in headers and fields of their own, looked up in one order.

Names meant for this come first, in headers and then in the body. What was made for something else, such as a cache key,
comes last and counts only if it is unique. What each client sends was seen on the wire.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text, object_in
from streamviz.proxy.http import Header

_LONGEST_USER_ID = 10_000
_IN_USER_ID = re.compile(r"_session_([0-9a-fA-F-]{36})$")
_AS_USER_ID = re.compile(r"session_[0-9a-fA-F-]{36}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_RUN = re.compile(r"[0-9A-Za-z]{16,}")
# How an answer must end for OpenAI to add it to its conversation.
ADDED = ("completed", "incomplete")


class Row(NamedTuple):
    """A place where a session's name may be, who puts it there, and how to read it."""

    place: str
    whose: str
    read: Callable[[Header, JsonObject], str]


def _header(name: str) -> Callable[[Header, JsonObject], str]:
    raw = name.encode()
    return lambda header, _: header(raw)


def _codex(header: Header, _: JsonObject) -> str:
    """Codex's header; the server maps its older name `session_id` to this one. It names the session of all agents. In
    older versions it names only the thread: then the thread that began this one names the session of both."""
    session, parent = header(b"session-id"), header(b"x-codex-parent-thread-id")
    is_threads = header(b"thread-id") in ("", session)
    return parent if session and parent.strip() and is_threads else session


def _affinity(header: Header, _: JsonObject) -> str:
    """The affinity, if it looks random: any other may send many conversations to the same server."""
    word = header(b"x-affinity")
    return word if is_made(word) else ""


def _metadata(request: JsonObject) -> JsonObject:
    return as_object(request.get("metadata"))


def conversation_of(request: JsonObject) -> str:
    """The conversation at OpenAI that a request continues; empty if there is none."""
    told = request.get("conversation")
    return as_text(told) or as_text(as_object(told).get("id"))


def _cache_key(_: Header, request: JsonObject) -> str:
    """A cache key that is unique to a conversation because it was made at random; others name a prompt or an
    application, and are shared by many."""
    key = as_text(request.get("prompt_cache_key"))
    return key if is_made(key) else ""


TABLE = (
    # A sub-agent of opencode has a session of its own, and says which session it runs in.
    Row("header `x-parent-session-id`", "opencode's sub-agents", _header("x-parent-session-id")),
    Row("header `x-session-id`", "anybody; opencode", _header("x-session-id")),
    Row("header `x-claude-code-session-id`", "Claude Code", _header("x-claude-code-session-id")),
    Row("header `session-id` or `session_id`", "Codex", _codex),
    Row("header `x-opencode-session`", "opencode", _header("x-opencode-session")),
    Row("header `x-session-affinity`", "opencode", _header("x-session-affinity")),
    Row("header `x-affinity`, where it is an id", "Mistral Vibe", _affinity),
    Row("body `metadata.session_id`", "anybody", lambda _, body: as_text(_metadata(body).get("session_id"))),
    Row(
        "body `metadata.user_id`: `session_<uuid>`, `…_session_<uuid>`, or JSON with `session_id`",
        "Kimi Code, Claude Code",
        lambda _, body: _in_user_id(as_text(_metadata(body).get("user_id"))),
    ),
    Row(
        "body `client_metadata.session_id`",
        "Codex",
        lambda _, body: as_text(as_object(body.get("client_metadata")).get("session_id")),
    ),
    Row("body `conversation`: an id, or an object with `id`", "OpenAI's SDKs", lambda _, body: conversation_of(body)),
    Row("body `prompt_cache_key`, where it is an id", "Codex, Kimi Code, opencode, others", _cache_key),
)
_HEADERS = tuple(row for row in TABLE if row.place.startswith("header"))
# The fields that the other rows read; most requests have none of them.
_FIELDS = frozenset(("metadata", "client_metadata", "conversation", "prompt_cache_key"))
_HELPER_HEADERS = (b"x-claude-code-agent-id", b"x-openai-subagent", b"x-codex-parent-thread-id", b"x-parent-session-id")
# What tells the agents of a session apart: Codex's are threads, opencode's have sessions of their own.
_AGENT_HEADERS = (b"x-claude-code-agent-id", b"thread-id", b"session-id", b"x-session-affinity")
_CALLER_HEADERS = (b"x-claude-code-parent-agent-id", b"x-codex-parent-thread-id", b"x-parent-session-id")


class Helper(NamedTuple):
    """A sub-agent, as its client tells: its id in the session, and that of the agent which called it, empty if this is
    the main one."""

    id: str
    caller: str


def name_of(header: Header, request: JsonObject) -> str:
    """The session's name as the client gives it; empty if it gives none. `header` looks up a header of the request."""
    rows = _HEADERS if _FIELDS.isdisjoint(request) else TABLE
    return next((name for row in rows if (name := row.read(header, request).strip())), "")


def helper_of(header: Header, session: str) -> Helper | None:
    """The sub-agent that a request comes from, if the client says that it does. The session's name is also that of its
    main agent."""
    if not any(header(name).strip() for name in _HELPER_HEADERS):
        return None
    id, caller = (_first(header, names) for names in (_AGENT_HEADERS, _CALLER_HEADERS))
    return Helper("" if id == session else id, "" if caller == session else caller)


def _first(header: Header, names: tuple[bytes, ...]) -> str:
    return next((value for name in names if (value := header(name).strip())), "")


def is_made(name: str) -> bool:
    """Whether a program made this name, for one thing alone: it contains a UUID, or a long run of letters and
    digits."""
    beginning = name[:1_000]
    if _UUID.search(beginning) is not None:
        return True
    return any(not (run.isalpha() or run.isdigit()) for run in _RUN.findall(beginning))


def _in_user_id(user_id: str) -> str:
    """Claude Code's session: what follows `_session_`, or since 2.1.78 a member of a JSON object. Kimi Code's is the
    whole id, and the whole `prompt_cache_key` too."""
    if _AS_USER_ID.fullmatch(user_id):
        return user_id
    if (found := _IN_USER_ID.search(user_id)) is not None:
        return found.group(1)
    if not user_id.startswith("{") or len(user_id) > _LONGEST_USER_ID:
        return ""
    return as_text(object_in(user_id).get("session_id"))
