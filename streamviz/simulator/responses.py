"""OpenAI's responses, as OpenAI sends them: thinking is a reasoning item with a summary, each tool call an item."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from streamviz.simulator.errors import ProviderError
from streamviz.simulator.reply import GARBAGE, Frame, JsonObject, Padding, Reply, named_event
from streamviz.simulator.response_items import final_status, item, item_id, item_status, part_object
from streamviz.simulator.response_objects import response
from streamviz.simulator.steps import (
    Fail,
    Finish,
    Garbage,
    Part,
    Speech,
    Step,
    ToolEnd,
    ToolPiece,
    ToolStart,
    WholeTools,
    fold,
    timeline,
)


class _Speech(NamedTuple):
    """The names that this format uses for one kind of running text."""

    text_event: str
    part_event: str
    index_key: str
    text_key: str
    extra: JsonObject


_SPEECH = {
    "thinking": _Speech("reasoning_summary_text", "reasoning_summary_part", "summary_index", "text", {}),
    "content": _Speech("output_text", "content_part", "content_index", "text", {"logprobs": []}),
    "refusal": _Speech("refusal", "content_part", "content_index", "refusal", {}),
}


def frames(reply: Reply) -> Iterator[Frame]:
    """The answer as a stream of events, from `response.created` to `response.completed` or the like."""
    writer = _Events(reply)
    opened = False
    for delay, step in timeline(reply.script.steps):
        opening = b"" if opened else writer.opening()
        yield delay, opening + writer.event(step)
        opened = True


def whole(reply: Reply) -> JsonObject:
    """The answer as one `response`."""
    parts = fold(reply.script.steps)
    output = [item(reply, part, number, item_status(reply)) for number, part in enumerate(parts)]
    return response(reply, final_status(reply), output)


class _OpenItem:
    """An output item that has begun and is not done."""

    def __init__(self, reply: Reply, part: Part, output_index: int) -> None:
        self.part = part
        self.output_index = output_index
        self.id = item_id(reply, part, output_index)
        self.pieces: list[str] = []

    def whole(self) -> Part:
        """The item's part with all of its text."""
        return msgspec.structs.replace(self.part, text="".join(self.pieces))


class _Events:
    """Writes steps as events, numbered from 0. Text ends when another item begins, a tool call at its end."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._padding = Padding(reply) if reply.asks_for("stream_options", "include_obfuscation") is not False else None
        self._number = -1
        self._speech: _OpenItem | None = None
        self._calls: dict[int, _OpenItem] = {}
        self._output: list[JsonObject] = []

    def opening(self) -> bytes:
        """The two events that every stream begins with."""
        made = response(self._reply, "in_progress", [])
        return self._event("response.created", response=made) + self._event("response.in_progress", response=made)

    def event(self, step: Step) -> bytes:
        """What is sent for a step."""
        match step:
            case Speech(text):
                return self._say(Part(step.kind, ""), text)
            case ToolStart(call, name):
                return self._start_call(call, name)
            case ToolPiece(call, arguments):
                return self._continue_call(call, arguments)
            case ToolEnd(call):
                return self._end_call(call)
            case WholeTools(calls):
                return b"".join(self._whole_call(*call) for call in calls)
            case Garbage():
                return b"event: response.output_text.delta\n" + GARBAGE
            case Fail(message):
                return self._failure(ProviderError(500, "server", message))
            case Finish():
                return self._closing()
            case _:
                return b""

    def _say(self, part: Part, text: str) -> bytes:
        start = b""
        opened = self._speech
        if opened is None or opened.part.kind != part.kind:
            start, opened = self._start_speech(part)
        opened.pieces.append(text)
        words = _SPEECH[part.kind]
        return start + self._delta(
            opened, f"response.{words.text_event}.delta", text, {words.index_key: 0} | words.extra
        )

    def _start_speech(self, part: Part) -> tuple[bytes, _OpenItem]:
        ended = self._end_speech()
        added, self._speech = self._add(part)
        words = _SPEECH[part.kind]
        fields = {words.index_key: 0, "part": part_object(part)}
        return ended + added + self._of(self._speech, f"response.{words.part_event}.added", fields), self._speech

    def _end_speech(self) -> bytes:
        opened, self._speech = self._speech, None
        if opened is None:
            return b""
        part = opened.whole()
        words = _SPEECH[part.kind]
        text = {words.index_key: 0, words.text_key: part.text} | words.extra
        ended = {words.index_key: 0, "part": part_object(part)}
        return (
            self._of(opened, f"response.{words.text_event}.done", text)
            + self._of(opened, f"response.{words.part_event}.done", ended)
            + self._done(opened)
        )

    def _start_call(self, call: int, name: str) -> bytes:
        ended = self._end_speech()
        added, self._calls[call] = self._add(Part("tool", "", name, call))
        return ended + added

    def _continue_call(self, call: int, arguments: str) -> bytes:
        opened = self._calls[call]
        opened.pieces.append(arguments)
        return self._delta(opened, "response.function_call_arguments.delta", arguments, {})

    def _end_call(self, call: int) -> bytes:
        opened = self._calls.pop(call)
        fields: JsonObject = {"arguments": opened.whole().text}
        return self._of(opened, "response.function_call_arguments.done", fields) + self._done(opened)

    def _whole_call(self, call: int, name: str, arguments: str) -> bytes:
        return self._start_call(call, name) + self._continue_call(call, arguments) + self._end_call(call)

    def _add(self, part: Part) -> tuple[bytes, _OpenItem]:
        opened = _OpenItem(self._reply, part, len(self._output))
        self._output.append(item(self._reply, part, opened.output_index, "in_progress"))
        return self._item_event("added", opened), opened

    def _done(self, opened: _OpenItem) -> bytes:
        done = item(self._reply, opened.whole(), opened.output_index, item_status(self._reply))
        self._output[opened.output_index] = done
        return self._item_event("done", opened)

    def _closing(self) -> bytes:
        ended = self._end_speech()
        status = final_status(self._reply)
        return ended + self._event(f"response.{status}", response=response(self._reply, status, self._output))

    def _failure(self, error: ProviderError) -> bytes:
        details = {"type": "server_error", "code": "server_error", "message": error.message, "param": None}
        failed = response(self._reply, "failed", [], error)
        return self._event("error", error=details) + self._event("response.failed", response=failed)

    def _delta(self, opened: _OpenItem, kind: str, text: str, fields: JsonObject) -> bytes:
        padding = {} if self._padding is None else {"obfuscation": self._padding.beside(text)}
        return self._of(opened, kind, {"delta": text} | fields | padding)

    def _of(self, opened: _OpenItem, kind: str, fields: JsonObject) -> bytes:
        return self._event(kind, item_id=opened.id, output_index=opened.output_index, **fields)

    def _item_event(self, what: str, opened: _OpenItem) -> bytes:
        made = self._output[opened.output_index]
        return self._event(f"response.output_item.{what}", item=made, output_index=opened.output_index)

    def _event(self, kind: str, **fields: object) -> bytes:
        self._number += 1
        return named_event({"type": kind, **fields, "sequence_number": self._number})
