"""The rules of Anthropic's message streams."""

from typing import Literal

import msgspec

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.lint.linter import EVERYWHERE, Linter, number_in
from streamviz.core.sse import is_named_line

_USUAL = b"event: content_block_delta\ndata: "


class _UsualDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None


class _UsualEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of a block, with every member that it may have: what is skipped might not be valid JSON."""

    type: Literal["content_block_delta"]
    index: int
    delta: _UsualDelta


_usual = msgspec.json.Decoder(_UsualEvent).decode


class AnthropicMessagesLinter(Linter):
    """message_start, blocks one after another, message_delta with the stop_reason, message_stop; pings in between."""

    rules = {
        **EVERYWHERE,
        "event_name_differs": "an event's name is its type",
        "start_missing": "a stream begins with message_start",
        "start_not_empty": "message_start has no content",
        "start_has_stop_reason": "stop_reason is null in message_start",
        "block_overlaps": "a block ends before the next begins",
        "index_reused": "each block, item or call has an index of its own",
        "outside_block": "deltas and stops belong to the open block",
        "block_without_stop": "each block has a content_block_stop",
        "finish_missing": "each answer says why it ended",
        "usage_missing": "a finished stream reports its usage",
    }

    def __init__(self) -> None:
        super().__init__()
        self._has_begun = False
        self._has_finished = False
        self._open: set[int | None] = set()
        self._indexes: set[int | None] = set()

    def _may_follow(self, payload: JsonObject) -> bool:
        return payload.get("type") == "ping"

    def read_usual(self, raw: bytes) -> bool:
        if self._has_ended or not is_named_line(raw, _USUAL):
            return False
        try:
            return _usual(raw[len(_USUAL) : -2]).index in self._open
        except ValueError:
            return False

    def _read(self, payload: JsonObject, name: str) -> None:
        kind = as_text(payload.get("type"))
        if name != kind:
            self._note("event_name_differs", "the event has a different name, or none")
        if not self._has_begun and kind not in ("message_start", "ping", "error"):
            self._note("start_missing", "it begins with something else")
        self._has_begun |= kind not in ("ping", "error")
        match kind:
            case "message_start":
                self._start(as_object(payload.get("message")))
            case "content_block_start":
                self._begin(number_in(payload, "index"))
            case "content_block_delta" | "content_block_stop":
                self._go_on(kind, number_in(payload, "index"))
            case "message_delta":
                self._has_finished |= bool(as_object(payload.get("delta")).get("stop_reason"))
                self._expect_usage(payload)
            case "message_stop":
                self._has_ended = True
            case "error":
                self._has_failed = True

    def _start(self, message: JsonObject) -> None:
        if message.get("content"):
            self._note("start_not_empty", "content in message_start")
        if message.get("stop_reason") is not None:
            self._note("start_has_stop_reason", "stop_reason in message_start")
            self._has_finished = True
        self._expect_usage(message)

    def _expect_usage(self, told: JsonObject) -> None:
        if not as_object(told.get("usage")):
            self._note("usage_missing", "no usage")

    def _begin(self, index: int | None) -> None:
        if self._open:
            self._note("block_overlaps", "a block begins in another")
        if index in self._indexes:
            self._note("index_reused", f"index {index} again")
        self._open.add(index)
        self._indexes.add(index)

    def _go_on(self, kind: str, index: int | None) -> None:
        if index not in self._open:
            self._note("outside_block", f"{kind} of a block that is not open")
        elif kind == "content_block_stop":
            self._open.discard(index)

    def _end(self) -> None:
        if self._open:
            self._note("block_without_stop", "a block has no content_block_stop")
        if not self._has_finished:
            self._note("finish_missing", "no stop_reason came")
