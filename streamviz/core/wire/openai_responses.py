"""OpenAI's responses, as OpenAI and the providers that speak its format stream them.

Format: https://platform.openai.com/docs/api-reference/responses-streaming. A response is a list of items, each with its
place in the output; messages contain parts. The same text comes up to four times (in deltas, in the part's end, in the
item's end and in the whole response): it counts once, from where it comes first. Clients use any of the four, so all
have to be the same. Speech is a text, its transcript, and a sound beside it.
"""

from collections.abc import Sequence

from streamviz.core.blocks import Told, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, objects
from streamviz.core.repeats import TextPlace
from streamviz.core.wire.beside import member_names
from streamviz.core.wire.openai_responses_beside import responses_known_of, responses_say_beside
from streamviz.core.wire.openai_responses_calls import CALLS, is_call, preview_in
from streamviz.core.wire.openai_responses_incoming import Item
from streamviz.core.wire.openai_responses_message import build_response, text_of
from streamviz.core.wire.openai_responses_text_reader import TextReader

# By the words of events for a part of the thinking, those of events for its text.
_THOUGHT_PARTS = {"reasoning_summary_part": "reasoning_summary_text", "reasoning_part": "reasoning_text"}
# Events that add a text to a block as it is, and the members that they may have.
_PLAIN_DELTAS = {
    f"response.{word}.delta" for word in ("output_text", "refusal", "function_call_arguments", "custom_tool_call_input")
}
_DELTA = member_names("type sequence_number item_id output_index content_index delta logprobs obfuscation")
_PLACES = ("output_index", "content_index", "summary_index")
_ENDED = ("completed", "incomplete", "failed", "cancelled")


class OpenAIResponsesAggregator(TextReader):
    """Reads the events of a response stream, and a whole `response` as one chunk.

    `head` is the response so far, without its output and usage; `items` are the items of its output so far, by place.
    Both stay the same objects for the whole stream.
    """

    @staticmethod
    def _text_place(payload: JsonObject) -> TextPlace | None:
        is_plain = (
            as_text(payload.get("type")) in _PLAIN_DELTAS and _DELTA.issuperset(payload) and not payload.get("logprobs")
        )
        return TextPlace(payload, "delta") if is_plain and isinstance(payload.get("delta"), str) else None

    def _told_beside(self, payload: JsonObject, name: str) -> Sequence[Told]:
        self._envelope.read_response(payload, as_text(payload.get("type")) or name)
        return self._envelope.take()

    def _told_in(self, padding: str) -> Sequence[Told]:
        return self._envelope.take_one(padding)

    def _says_beside(self, payload: JsonObject, name: str) -> bool:
        return self._envelope.is_odd or responses_say_beside(payload, name)

    def _known_of(self, payload: JsonObject, name: str) -> object:
        return responses_known_of(payload, name)

    def _read(self, payload: JsonObject, name: str) -> None:
        kind = as_text(payload.get("type")) or name
        self._check_event_itself(payload, kind, name)
        if is_response(payload):
            self._read_body(payload, kind)
            return
        match kind.split("."):
            case ["response", "output_item", step]:
                self._read_item(payload, as_object(payload.get("item")), is_done=step == "done")
            case ["response", *words, "delta" | "done" | "added" as step] if words:
                self._read_text("_".join(words), step, payload)
            case ["response", word, "partial_image"]:
                self._tell_preview(self._item(payload, word), preview_in(payload))
            case ["response", status]:
                self._read_response(as_object(payload.get("response")), status)
            case ["error"]:
                error = payload.get("error")
                self._fail(error or {key: value for key, value in payload.items() if key != "type"})
            case _ if payload.get("object") == "response":
                self._read_response(payload, "")
            case [""] if error := payload.get("error"):
                self._fail(error)

    def _check_event_itself(self, payload: JsonObject, kind: str, name: str) -> None:
        if name.startswith("response.") and name != kind:
            self._contradict("an event has the name of another")
        if any(isinstance(place := payload.get(member), int) and as_index(place) is None for member in _PLACES):
            self._contradict("a place is not an index")

    def _read_text(self, word: str, step: str, payload: JsonObject) -> None:
        if word == "content_part":
            self._read_part(payload, as_object(payload.get("part")), is_whole=step == "done")
        elif word in _THOUGHT_PARTS:
            self._read_thought(_THOUGHT_PARTS[word], payload, as_object(payload.get("part")))
        elif step == "delta":
            self._read_delta(word, payload)
        else:
            self._read_whole_text(word, payload)

    # The whole response

    def _read_body(self, response: JsonObject, kind: str) -> None:
        """Read a response that is not in an event; clients that asked for one read it, whatever its type says."""
        if kind == "error" or kind.startswith("response."):
            self._contradict("a whole response says that it is an event")
        self._read_response(response, "")

    def _read_response(self, response: JsonObject, word: str) -> None:
        self._tell_head({key: value for key, value in response.items() if _is_of_head(key, value)})
        self._use(response.get("usage"), response.get("service_tier"))
        status = word if word in _ENDED else as_text(response.get("status"))
        is_ended = status in _ENDED
        output = response.get("output")
        if output and len(objects(output)) != (len(output) if isinstance(output, list) else 1):
            self._contradict("an output contains something that is not an item")
        finder = self._known.finder()
        is_more = False
        for position, payload in enumerate(objects(output)):
            item = finder.find(position, payload)
            if item is not None and item.is_done and self.items.get(item.place) == payload:
                continue  # repeated word for word, as the end of a response does with all items
            self._count(int(is_more))
            is_more = True
            self._tell_item(item or self._start_item(position, payload), payload, is_whole=is_ended)
        self._check_output_text(response)
        if is_ended:
            self._end_response(response, status)

    def _end_response(self, response: JsonObject, status: str) -> None:
        if error := response.get("error"):
            self._fail(error)
        for item in list(self._unsealed.values()):
            self._seal(item, is_broken=status in ("failed", "cancelled"))
        self.has_end_mark = True
        self._finish(as_text(response.get("status")) or status)

    def _check_output_text(self, response: JsonObject) -> None:
        """Check `output_text`, which some clients read instead of the items."""
        told = as_text(response.get("output_text"))
        if told and self._may_reread("output_text"):
            said = "".join(block.text for block in self.state.blocks if block.kind is BlockKind.CONTENT)
            # It does not include speech.
            written = text_of(objects(response.get("output")))
            if "".join(told.split()) not in ("".join(said.split()), "".join(written.split())):
                self._contradict("output_text is not the text of the messages")

    # Items

    def _read_item(self, payload: JsonObject, details: JsonObject, is_done: bool) -> None:
        index, id = as_index(payload.get("output_index")), as_text(details.get("id"))
        item = self._find_item(index, id) if is_done else self._open_item(index, id)
        if item is None or _is_other(item, details, is_done):
            item = self._start_item(index, details)
        if is_done:
            item.is_done = True
            self.items[item.place] = details
        self._tell_item(item, details, is_whole=is_done)
        if is_done:
            self._seal(item)

    def _open_item(self, index: int | None, id: str) -> Item | None:
        """The item, if it is one that is announced again."""
        item = self._by_id.get(id)
        return item if item is not None and (index is None or item.wire == index) else None

    def _tell_item(self, item: Item, details: JsonObject, is_whole: bool) -> None:
        """Take from an item what no earlier event said; if it `is_whole`, it must agree with all of them."""
        block = item.block
        if block is None:
            self._tell_parts(item, details, is_whole)
        elif isinstance(block, ToolCallStreamBlock):
            self._tell_call(block, item, details, is_whole)
        elif block.kind is BlockKind.THINKING:
            self._tell_thinking(item, details, is_whole)
        else:
            self._tell_other(block, item, details, is_whole)

    def _leave_off(self) -> None:
        for item in self._unsealed.values():
            self._leave_call(item, is_broken=True)
            self._leave_other(item, is_broken=True)

    def _seal(self, item: Item, is_broken: bool = False) -> None:
        if self._unsealed.pop(item.place, None) is None:
            return
        self._leave_call(item, is_broken)
        self._leave_other(item, is_broken)
        for block in item.unsealed:
            self._end(block, truncated=is_broken)
        item.unsealed = []

    def _build(self) -> JsonObject:
        return build_response(self.state, self.head, self.items)


def _is_of_head(key: str, value: object) -> bool:
    """Whether a member of a response belongs to its head, not its output. `text` says how text is to be written; if it
    is not an object, it is not part of the format."""
    return key not in ("output", "usage") and (key != "text" or isinstance(value, dict))


def is_response(payload: JsonObject) -> bool:
    """Whether a payload is itself a whole response, whatever its type says.

    The output of a shell's commands is called `output`, too, but is not made of items.
    """
    output = payload.get("output")
    if payload.get("type") == "response.shell_call_output_content.done":
        return any("type" in item for item in objects(output))
    return isinstance(output, list | dict)


def _is_other(item: Item, details: JsonObject, is_done: bool) -> bool:
    """Whether `details` are of a different item from the one at their place."""
    told = as_text(details.get("type"))
    is_call_now = isinstance(item.block, ToolCallStreamBlock)
    if item.block is not None and item.block.kind is BlockKind.OTHER and is_call(details):
        return True
    if item.type != told and not (is_call_now and told in CALLS):
        return True
    return item.is_done and (not is_done or as_text(details.get("id")) != item.id)
