"""The rules of OpenAI's chat completion chunks."""

from collections import defaultdict

import msgspec

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.lint.linter import EVERYWHERE, Linter, objects_in
from streamviz.core.sse import is_one_line


class _UsualDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: str | None = None
    role: str | None = None
    refusal: None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _UsualChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: _UsualDelta
    logprobs: None = None
    finish_reason: None = None


class _UsualChunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A chunk with some text, with every member that such a chunk may have."""

    id: str
    choices: tuple[_UsualChoice]
    object: str | None = None
    created: int | None = None
    model: str | None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None
    provider: str | None = None
    obfuscation: str | None = None
    usage: None = None


_usual = msgspec.json.Decoder(_UsualChunk).decode


class OpenAIChatLinter(Linter):
    """Chunks of one `id`, each with a choice's `delta`, or with `usage` and no choice; then `[DONE]`."""

    rules = {
        **EVERYWHERE,
        "id_changes": "all chunks have the same id",
        "id_empty": "each chunk has an id",
        "error_sent": "errors are reported before a stream begins",
        "not_a_chunk": "each event is a chunk with choices",
        "event_named": "events have no name",
        "empty_choices": "only the chunk with usage has no choice",
        "delta_missing": "each choice has a delta",
        "message_beside_delta": "a choice of a chunk has no message beside its delta",
        "content_not_text": "content is text",
        "role_missing": "a choice states its role",
        "tool_calls_not_list": "tool_calls, if present, is a list",
        "index_missing": "each piece of a tool call has an index",
        "index_reused": "each block, item or call has an index of its own",
        "index_not_from_0": "tool calls are numbered from 0",
        "finish_missing": "each answer says why it ended",
        "finish_repeated": "a choice has one finish_reason",
        "finish_not_tool_calls": "finish_reason is tool_calls where tools are called",
        "after_finish": "nothing follows the reason why an answer ended",
        "usage_beside_choices": "usage is in a chunk of its own",
    }

    def __init__(self) -> None:
        super().__init__()
        self._id = ""
        self._choices: defaultdict[int, _Choice] = defaultdict(_Choice)

    def read_usual(self, raw: bytes) -> bool:
        if self._has_ended or not self._id or not is_one_line(raw):
            return False
        try:
            chunk = _usual(raw[6:-2])
        except ValueError:
            return False
        [choice] = chunk.choices
        known = self._choices.get(choice.index)
        if chunk.id != self._id or known is None or known.has_finished:
            return False
        known.has_role |= bool(choice.delta.role)
        return True

    def _read(self, payload: JsonObject, name: str) -> None:
        if name:
            self._note("event_named", "the event has a name")
        if payload.get("error") is not None:
            self._note("error_sent", "an error in the middle of the stream")
        if "choices" not in payload:
            if "error" not in payload:
                self._note("not_a_chunk", "no choices")
            return
        self._read_id(as_text(payload.get("id")))
        choices = objects_in(payload.get("choices"))
        usage = as_object(payload.get("usage"))
        if not choices and not usage:
            self._note("empty_choices", "neither a choice nor usage")
        if choices and usage:
            self._note("usage_beside_choices", "usage beside a choice")
        for choice in choices:
            index = choice.get("index")
            self._read_choice(choice, index if isinstance(index, int) else 0)

    def _read_id(self, id: str) -> None:
        if not id:
            self._note("id_empty", "no id")
        elif self._id and id != self._id:
            self._note("id_changes", "a different id than before")
        self._id = self._id or id

    def _read_choice(self, choice: JsonObject, index: int) -> None:
        known = self._choices[index]
        if "delta" not in choice:
            self._note("delta_missing", "a choice without delta")
        if choice.get("message") is not None:
            self._note("message_beside_delta", "a message beside the delta")
        delta = as_object(choice.get("delta"))
        known.has_role |= bool(delta.get("role"))
        content = delta.get("content")
        if content is not None and not isinstance(content, str):
            self._note("content_not_text", "content is not text")
        if known.has_finished and (content or delta.get("tool_calls")):
            self._note("after_finish", "more after finish_reason")
        self._read_calls(delta, known)
        if finish := as_text(choice.get("finish_reason")):
            if known.has_finished:
                self._note("finish_repeated", "finish_reason again")
            elif known.calls and finish == "stop":
                self._note("finish_not_tool_calls", "stop after tool calls")
            known.has_finished = True

    def _read_calls(self, delta: JsonObject, known: "_Choice") -> None:
        if "tool_calls" in delta and not isinstance(delta["tool_calls"], list):
            self._note("tool_calls_not_list", "tool_calls is not a list")
        for call in objects_in(delta.get("tool_calls")):
            index, id = call.get("index"), as_text(call.get("id"))
            if not isinstance(index, int):
                self._note("index_missing", "tool_calls[].index is missing")
                continue
            if not known.calls and index != 0:
                self._note("index_not_from_0", f"the first index is {index}")
            if id and known.calls.get(index, id) != id:
                self._note("index_reused", f"index {index} has a different id than before")
            known.calls[index] = known.calls.get(index) or id

    def _end(self) -> None:
        for known in self._choices.values():
            if not known.has_finished:
                self._note("finish_missing", "no finish_reason came")
            if not known.has_role:
                self._note("role_missing", "no role came")


class _Choice:
    """What came of a choice: the ids of its tool calls by index."""

    def __init__(self) -> None:
        self.has_role = False
        self.has_finished = False
        self.calls: dict[int, str] = {}
