"""Which session a stream belongs to."""

import hashlib
import re
from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID, uuid5

from streamviz.core.context import SessionCounts
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, encode
from streamviz.records.ids import uuid7

_LABELLED = UUID("6f1c6d4e-4d5b-4b5e-9f0a-5a1f6d1f7a10")
_REMEMBERED = 10_000
_LABEL_CHARACTERS = 60
_SAID_CHARACTERS = 4_000
_MOST_WRAPPED = 20
# What agents put before a person's words: `<system-reminder>…</system-reminder>`, `<environment_context>…`.
_OPENING = re.compile(r"\s*<([A-Za-z]{1,20}[-_][A-Za-z_-]{1,40})>")


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session's id, and what the client calls it; empty where it does not."""

    id: UUID
    label: str


class Sessions:
    """Finds the session of each request.

    A client that names it (`session_names`) decides. Else a request that continues a conversation belongs where that
    began, told by key and opening messages; any other starts a new session.
    """

    def __init__(self) -> None:
        self._conversations: OrderedDict[bytes, SessionName] = OrderedDict()
        self._counts: OrderedDict[UUID, SessionCounts] = OrderedDict()

    def find(self, request: JsonObject, turns: str, key_name: str, named: str) -> SessionName:
        """`turns` is the request's field that holds the conversation, `named` what the client calls the session."""
        if named:
            return SessionName(uuid5(_LABELLED, f"{key_name}\n{named}"), named)
        messages = _messages(request.get(turns))
        opening = _opening(messages)
        fingerprint = hashlib.sha256(encode([key_name, opening])).digest()
        continues = len(messages) > len(opening)
        session = self._conversations.get(fingerprint) if continues else None
        if session is None:
            session = SessionName(uuid7(), "")
        self._remember(fingerprint, session)
        return session

    def counts(self, session_id: UUID, now: int) -> SessionCounts:
        """What the session's streams in this worker add up to; `now` is in µs since the epoch."""
        counts = self._counts.get(session_id)
        if counts is None:
            counts = self._counts[session_id] = SessionCounts(began_at=now)
            if len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)
        self._counts.move_to_end(session_id)
        return counts

    def _remember(self, fingerprint: bytes, session: SessionName) -> None:
        self._conversations[fingerprint] = session
        self._conversations.move_to_end(fingerprint)
        if len(self._conversations) > _REMEMBERED:
            self._conversations.popitem(last=False)


def label_of(request: JsonObject, turns: str) -> str:
    """What people read in place of a session's id where the client gave it no name: how the conversation began.

    It is kept, so it is to be made of the request as policies left it.
    """
    return _label(_opening(_messages(request.get(turns))))


def _messages(turns: object) -> list[JsonObject]:
    """The turns of a conversation; OpenAI's responses may have a bare text for one."""
    if isinstance(turns, str):
        return [{"role": "user", "content": turns}]
    return [as_object(turn) for turn in as_list(turns)]


def _opening(messages: list[JsonObject]) -> list[JsonObject]:
    """The messages up to the model's first answer; in OpenAI's responses that can be an item with no role."""
    for position, message in enumerate(messages):
        if message.get("role") not in ("user", "system", "developer"):
            return messages[:position]
    return messages


def _label(opening: list[JsonObject]) -> str:
    """The beginning of what the user asked, without what an agent put before it."""
    for message in opening:
        if message.get("role") != "user":
            continue
        content = message.get("content")
        parts = [as_text(as_object(part).get("text")) for part in as_list(content)] or [as_text(content)]
        words = " ".join(_said(part) for part in parts).split()
        if words:
            label = " ".join(words[:_LABEL_CHARACTERS])
            return label if len(label) <= _LABEL_CHARACTERS else f"{label[: _LABEL_CHARACTERS - 1]}…"
    return ""


def _said(text: str) -> str:
    """What is left of a text behind an agent's own elements; not more than a few are looked at."""
    at = 0
    for _ in range(_MOST_WRAPPED):
        opening = _OPENING.match(text, at)
        end = -1 if opening is None else text.find(f"</{opening[1]}>", opening.end())
        if opening is None or end < 0:
            break
        at = end + len(opening[1]) + 3
    return text[at : at + _SAID_CHARACTERS]
