"""OpenAI's responses, as OpenAI and the providers that speak its format stream them.

Format: https://platform.openai.com/docs/api-reference/responses-streaming. A response is a list of items, each with
its place in the output; messages hold parts. The same text comes up to four times (in deltas, in the part's end, in
the item's end and in the whole response): it counts once, from wherever it is first told. Clients use any of the four,
so that all have to say the same.
"""

from dataclasses import dataclass, field

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.calls import PROVIDER_RUN
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_list, as_object, as_text, objects
from streamviz.core.wire.arguments import as_arguments, as_input
from streamviz.core.wire.openai_responses_calls import (
    CALLS,
    ArgumentsWriter,
    announced,
    arguments_of,
    goes_on,
    id_of,
    is_call,
    is_result,
    is_same,
    label_of,
    split_word,
    tool_name,
    whole_fields,
)
from streamviz.core.wire.openai_responses_matching import KnownItems
from streamviz.core.wire.openai_responses_message import build_response, payload_of

PARTS = {
    "output_text": BlockKind.CONTENT,
    "text": BlockKind.CONTENT,
    "refusal": BlockKind.REFUSAL,
    "reasoning_text": BlockKind.THINKING,
    "summary_text": BlockKind.THINKING,
}
# By the event's middle words: the item that its text belongs to, the part where the item is a message, and the field
# that holds the whole of it at its end.
_TEXTS = {
    "output_text": ("message", "output_text", "text"),
    "refusal": ("message", "refusal", "refusal"),
    "audio_transcript": ("message", "output_text", "transcript"),
    "output_audio_transcript": ("message", "output_text", "transcript"),
    "reasoning_text": ("reasoning", "", "text"),
    "reasoning_summary_text": ("reasoning", "", "text"),
    "reasoning_summary": ("reasoning", "", "text"),
    "function_call_arguments": ("function_call", "", "arguments"),
    "custom_tool_call_input": ("custom_tool_call", "", "input"),
}
_WHOLES = ("text", "arguments", "refusal", "input", "transcript")
# Calls that the provider announces with one action and tells as done with another.
_PREVIEWED = ("web_search_call",)
_ENDED = ("completed", "incomplete", "failed", "cancelled")


@dataclass(slots=True)
class _Item:
    """An item of the output: its one block, or a message's blocks by the number and the kind of their part.

    `place` is the wire's index for it, `wire`, or the next that is free where the wire uses one twice.
    """

    place: int
    wire: int | None
    type: str
    id: str
    call_id: str = ""
    name: str = ""
    block: StreamBlock | None = None
    parts: dict[tuple[int, BlockKind], StreamBlock] = field(default_factory=dict)
    # Thinking comes in parts that make one block: what of each has come, by which list and which number.
    thoughts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    # The arguments that a call was announced with, and those whose fields come piece by piece.
    begun: object = None
    writer: ArgumentsWriter | None = None
    has_deltas: bool = False
    is_done: bool = False

    @property
    def blocks(self) -> list[StreamBlock]:
        return [*self.parts.values(), *([self.block] if self.block is not None else [])]


class OpenAIResponsesAggregator(Aggregator[Chunk, JsonObject]):
    """Reads the events of a response stream, and a whole `response` as one chunk.

    `head` is the response without its output and usage, `items` the items of the output by place, both as far as
    they have come; they stay the same objects for the whole stream.
    """

    def clear(self) -> None:
        super().clear()
        self.head: JsonObject = {}
        self.items: dict[int, JsonObject] = {}
        self._known: KnownItems[_Item] = KnownItems()
        self._unsealed: dict[int, _Item] = {}
        self._items: dict[int, _Item] = {}
        self._by_id: dict[str, _Item] = {}
        self._latest: _Item | None = None
        self._next_place = 0

    def _read(self, payload: JsonObject, name: str) -> None:
        kind = as_text(payload.get("type")) or name
        if name.startswith("response.") and name != kind:
            self._contradict(f"an event {name!r} says that it is {kind!r}")
        if is_response(payload):
            self._read_body(payload, kind)
            return
        match kind.split("."):
            case ["response", "output_item", step]:
                self._read_item(payload, as_object(payload.get("item")), is_done=step == "done")
            case ["response", *words, "delta" | "done" | "added" as step] if words:
                self._read_text("_".join(words), step, payload)
            case ["response", status]:
                self._read_response(as_object(payload.get("response")), status)
            case ["error"]:
                error = payload.get("error")
                self._fail(error or {key: value for key, value in payload.items() if key != "type"})
            case _ if payload.get("object") == "response":
                self._read_response(payload, "")
            case [""] if error := payload.get("error"):
                self._fail(error)

    def _read_text(self, word: str, step: str, payload: JsonObject) -> None:
        if word == "content_part":
            self._read_part(payload, as_object(payload.get("part")), is_whole=step == "done")
        elif word == "reasoning_summary_part":
            self._read_thought("reasoning_summary_text", payload, as_object(payload.get("part")))
        elif step == "delta":
            self._read_delta(word, payload)
        else:
            self._read_whole_text(word, payload)

    # The whole response

    def _read_body(self, response: JsonObject, kind: str) -> None:
        """A response that is no event's; clients that asked for one read it, whatever its type says."""
        if kind == "error" or kind.startswith("response."):
            self._contradict(f"a whole response says that it is {kind!r}")
        self._read_response(response, "")

    def _read_response(self, response: JsonObject, word: str) -> None:
        self.head.update({key: value for key, value in response.items() if key not in ("output", "usage")})
        self._use(response.get("usage"))
        status = word if word in _ENDED else as_text(response.get("status"))
        is_ended = status in _ENDED
        finder = self._known.finder()
        for position, payload in enumerate(objects(response.get("output"))):
            item = finder.find(position, payload) or self._start_item(position, payload)
            self._tell_item(item, payload, is_whole=is_ended)
        if is_ended:
            self._end_response(response, status)

    def _end_response(self, response: JsonObject, status: str) -> None:
        self._check_output_text(response)
        if error := response.get("error"):
            self._fail(error)
        for item in list(self._unsealed.values()):
            self._seal(item, is_broken=status in ("failed", "cancelled"))
        self.has_end_mark = True
        self._finish(as_text(response.get("status")) or status)

    def _check_output_text(self, response: JsonObject) -> None:
        """Some clients read this in place of the items."""
        if told := as_text(response.get("output_text")):
            said = "".join(block.text for block in self.state.blocks if block.kind is BlockKind.CONTENT)
            if "".join(told.split()) != "".join(said.split()):
                self._contradict("output_text is not the text of the messages")

    # Items

    def _find_item(self, index: int | None, id: str) -> _Item | None:
        """By its id while that item is open, else by its place, without one the latest.

        Some providers give an item another id in each event, some give all items the same place.
        """
        named = self._by_id.get(id)
        if named is not None and not named.is_done and (index is None or named.wire == index):
            return named
        placed = self._latest if index is None else self._items.get(index)
        if named is not None and not named.is_done:
            if placed is not None:
                self._contradict(f"item {id!r} is not the one at {index}")
            return placed or named
        return placed

    def _start_item(self, index: int | None, payload: JsonObject) -> _Item:
        place = self._next_place if index is None or index in self.items else index
        self._next_place = max(self._next_place, place + 1)
        item = _Item(place, index, as_text(payload.get("type")), as_text(payload.get("id")))
        self._items[place if index is None else index] = self._latest = self._unsealed[place] = item
        self._known.add(item, payload, place if index is None else index)
        self.items[place] = payload
        if item.id:
            self._by_id[item.id] = item
        if item.type != "message":
            item.block = self._start_block(item, payload)
        return item

    def _start_block(self, item: _Item, payload: JsonObject) -> StreamBlock:
        if item.type == "reasoning":
            return self._start(BlockKind.THINKING, index=item.place, id=item.id)
        if not is_call(payload):
            name = as_text(payload.get("name"))
            return self._start(BlockKind.OTHER, index=item.place, id=item.id, name=name, label=item.type)
        item.name, item.call_id = as_text(payload.get("name")), as_text(payload.get("call_id"))
        # A call is answered by its call_id; the item's own id is only for the item.
        label = label_of(item.type)
        id, name = id_of(payload), tool_name(payload)
        return self._start(BlockKind.TOOL_CALL, index=item.place, id=id, name=name, label=label)

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

    def _open_item(self, index: int | None, id: str) -> _Item | None:
        """The item that is announced once more."""
        item = self._by_id.get(id)
        return item if item is not None and (index is None or item.wire == index) else None

    def _tell_item(self, item: _Item, details: JsonObject, is_whole: bool) -> None:
        """Take from an item what no event before it told; where it `is_whole` it must not say anything else."""
        block = item.block
        if block is None:
            self._tell_parts(item, details, is_whole)
        elif isinstance(block, ToolCallStreamBlock):
            self._tell_call(block, item, details, is_whole)
        elif block.kind is BlockKind.THINKING:
            self._tell_thinking(item, details, is_whole)
        elif is_whole:
            self._tell_other(block, item, details)

    def _tell_other(self, block: StreamBlock, item: _Item, details: JsonObject) -> None:
        payload = payload_of(details)
        text = as_json_text(payload) if payload else ""
        if not text or item.has_deltas or _is_same_payload(payload, block.text):
            return
        if block.length or block.is_sealed:
            self._contradict(f"a part of type {as_text(details.get('type'))!r} is told again otherwise")
        else:
            self._grow(block, text)

    def _leave_off(self) -> None:
        for item in self._unsealed.values():
            self._leave_call(item, is_broken=True)

    def _leave_call(self, item: _Item, is_broken: bool) -> None:
        """A call that is never told as a whole has the arguments that came; what is cut off stays so."""
        if isinstance(item.block, ToolCallStreamBlock) and not item.block.is_sealed:
            came = item.block.text if item.writer is None else item.writer.fields
            if not is_broken:
                self._end_arguments(item.block, item, {})
            if came and not goes_on(item.begun, came):
                self._contradict("a call's arguments are not those that it was announced with")
            if item.begun is not None and not (came and goes_on(item.begun, came)):
                self._grow(item.block, as_arguments(item.begun))

    def _seal(self, item: _Item, is_broken: bool = False) -> None:
        self._unsealed.pop(item.place, None)
        self._leave_call(item, is_broken)
        for block in item.blocks:
            self._end(block, truncated=is_broken)

    # Calls

    def _tell_call(self, block: ToolCallStreamBlock, item: _Item, details: JsonObject, is_whole: bool) -> None:
        self._tell_tool(block, item, details)
        said = announced(details)
        if not is_whole and not block.is_sealed:
            self._announce(block, item, said)
            return
        if item.writer is not None:
            self._end_arguments(block, item, whole_fields(details))
        if said is not None and not goes_on(item.begun, said) and item.type not in _PREVIEWED:
            self._contradict("a call's arguments are not those that it was announced with")
        self._complete_with(block, arguments_of(details) or ("" if block.length else as_arguments(item.begun)))
        item.begun = None

    def _announce(self, block: ToolCallStreamBlock, item: _Item, said: object) -> None:
        """A call can have arguments when it is announced; what comes then begins with them."""
        if said is None or said == item.begun:
            return
        if item.begun is not None or block.length:
            self._contradict("a call is announced twice")
        else:
            item.begun = said

    def _tell_tool(self, block: ToolCallStreamBlock, item: _Item, details: JsonObject) -> None:
        """The call's name and id, which may come late but not change."""
        name, call_id = as_text(details.get("name")), as_text(details.get("call_id"))
        if name and item.name and name != item.name:
            self._contradict(f"a call of {item.name!r} becomes one of {name!r}")
        if call_id and item.call_id and call_id != item.call_id and item.type not in PROVIDER_RUN:
            self._contradict("a call's id changes")
        item.name, item.call_id = item.name or name, item.call_id or call_id
        new_name = item.name if item.name and item.name != block.name else ""
        new_id = item.call_id if item.call_id and item.call_id != block.id else ""
        if not (new_name or new_id):
            return
        if block.is_sealed:
            self._contradict("a call gets its name or id behind its end")
        else:
            self._grow(block, id=new_id, name=new_name)

    def _end_arguments(self, block: ToolCallStreamBlock, item: _Item, whole: JsonObject) -> None:
        """The end of arguments that came field by field; `whole` is all of them where the item tells them."""
        writer, item.writer = item.writer, None
        if writer is None or block.is_sealed:
            return
        came = writer.fields
        if any(whole.get(key) is not None and whole[key] != value for key, value in came.items()):
            self._contradict("a call's arguments are not what came before")
        self._grow(block, writer.end(whole))

    def _write_argument(self, block: ToolCallStreamBlock, item: _Item, field: str, payload: JsonObject) -> None:
        text = as_json_text(payload.get("delta"))
        if not text:
            return
        if block.is_sealed or (block.length and item.writer is None):
            self._contradict("a call's arguments go on behind their end")
            return
        item.writer = item.writer or ArgumentsWriter({})
        key = _key(item, field)
        self._grow(block, item.writer.piece(key, as_index(payload.get(f"{key}_index")), text))

    def _check_argument(self, block: ToolCallStreamBlock, item: _Item, field: str, payload: JsonObject) -> None:
        """The end of a field, told once more as a whole."""
        key = _key(item, field)
        number, whole = as_index(payload.get(f"{key}_index")), as_json_text(payload.get(key))
        came = None if item.writer is None else item.writer.said.get((key, number))
        if came is not None and whole and "".join(came) != whole:
            self._contradict("a call's arguments are not what came before")
        elif came is None and not block.length:
            self._write_argument(block, item, field, {**payload, "delta": whole})

    # Thinking

    def _tell_thinking(self, item: _Item, details: JsonObject, is_whole: bool) -> None:
        for key in ("summary", "content"):
            for position, part in enumerate(objects(details.get(key))):
                self._think(item, (key, position), as_text(part.get("text")))
        block, signature = item.block, as_text(details.get("encrypted_content"))
        if is_whole and signature and block is not None and not block.is_sealed:
            self._grow(block, signature=signature)

    def _think(self, item: _Item, part: tuple[str, int], whole: str) -> None:
        """Add what of a part of the thinking has not come yet."""
        block, pieces = item.block, item.thoughts.setdefault(part, [])
        known = sum(map(len, pieces))
        if block is None or not whole:
            return
        if len(whole) < known or not whole.startswith("".join(pieces)):
            self._contradict("thinking is told again otherwise")
        elif len(whole) > known:
            self._think_on(block, pieces, whole[known:])

    def _think_on(self, block: StreamBlock, pieces: list[str], text: str) -> None:
        if block.is_sealed:
            self._contradict("thinking goes on behind its end")
        else:
            pieces.append(text)
            self._grow(block, text)

    def _read_thought(self, word: str, payload: JsonObject, part: JsonObject) -> None:
        """The beginning or the end of a part of the thinking."""
        item = self._find_item(as_index(payload.get("output_index")), as_text(payload.get("item_id")))
        if item is not None and item.type == "reasoning":
            self._think(item, _thought(word, payload), as_text(part.get("text")))

    # Parts of messages

    def _tell_parts(self, item: _Item, details: JsonObject, is_whole: bool) -> None:
        for position, part in enumerate(as_list(details.get("content"))):
            self._tell_part(item, position, as_object(part), is_whole)

    def _read_part(self, payload: JsonObject, part: JsonObject, is_whole: bool) -> None:
        if not is_whole and as_list(part.get("logprobs")):
            self._contradict("a part begins with the logprobs of a text that has not come")
        if PARTS.get(as_text(part.get("type"))) is BlockKind.THINKING:
            item = self._find_item(as_index(payload.get("output_index")), as_text(payload.get("item_id")))
            if item is None or item.type != "message":
                # The parts of a reasoning item make one block, which its texts fill.
                self._read_thought("reasoning_text", payload, part)
                return
        else:
            item = self._item(payload, "message")
        self._tell_part(item, as_index(payload.get("content_index")) or 0, part, is_whole)

    def _tell_part(self, item: _Item, position: int, part: JsonObject, is_whole: bool) -> None:
        block = self._part(item, position, as_text(part.get("type")))
        if block.kind is BlockKind.OTHER:
            if is_whole:
                self._tell_other(block, item, part)
        else:
            text = as_text(part.get("text")) or as_text(part.get("refusal"))
            self._complete_with(block, text, is_complete=False)

    def _part(self, item: _Item, position: int, label: str) -> StreamBlock:
        kind = PARTS.get(label, BlockKind.OTHER)
        block = item.parts.get((position, kind))
        if block is None and any(place == position for place, _ in item.parts):
            self._contradict("a part of a message changes its type")
        if block is None:
            other = label if kind is BlockKind.OTHER else ""
            block = item.parts[position, kind] = self._start(kind, index=item.place, id=item.id, label=other)
            # A part can be added to a message that was whole already.
            self._unsealed[item.place] = item
        return block

    def _item(self, payload: JsonObject, wanted: str) -> _Item:
        """The item of this type that an event is about, begun now where no event began it."""
        index, id = as_index(payload.get("output_index")), as_text(payload.get("item_id"))
        item = self._find_item(index, id)
        is_alike = item is not None and wanted in CALLS and isinstance(item.block, ToolCallStreamBlock)
        if item is not None and (item.type == wanted or is_alike):
            return item
        return self._start_item(index, {"type": wanted, "id": id})

    # Texts

    def _text_block(self, word: str, payload: JsonObject) -> tuple[_Item, StreamBlock]:
        wanted, label, _ = _TEXTS[word]
        item = self._item(payload, wanted)
        return item, item.block or self._part(item, as_index(payload.get("content_index")) or 0, label)

    def _read_delta(self, word: str, payload: JsonObject) -> None:
        text = as_json_text(payload.get("delta"))
        if word not in _TEXTS:
            self._read_other_delta(word, payload, text)
            return
        item, block = self._text_block(word, payload)
        if not text:
            return
        if block.kind is BlockKind.THINKING and block is item.block:
            self._think_on(block, item.thoughts.setdefault(_thought(word, payload), []), text)
        elif block.is_complete:
            self._contradict("text goes on behind its end")
        else:
            self._grow(block, text)

    def _read_other_delta(self, word: str, payload: JsonObject, text: str) -> None:
        """Text of a call that is no function's, or of a kind that is new; the latter adds nothing to known kinds."""
        item, field = self._other_item(word, payload)
        block = item.block
        if block is None or not text:
            return
        if isinstance(block, ToolCallStreamBlock):
            if field:
                self._read_argument(block, item, field, payload)
        elif block.kind is BlockKind.OTHER and not block.is_sealed:
            item.has_deltas = True
            self._grow(block, text)

    def _other_item(self, word: str, payload: JsonObject) -> tuple[_Item, str]:
        """The item that a word of no known text is about, and which field of a call it names, if any."""
        type, field = split_word(word)
        is_argument = bool(field) and not is_result(field)
        index, id = as_index(payload.get("output_index")), as_text(payload.get("item_id"))
        item = self._find_item(index, id)
        if item is None or (is_argument and not word.startswith(f"{item.type}_")):
            item = self._start_item(index, {"type": type if is_argument else word, "id": id})
        own = word[len(item.type) + 1 :] if word.startswith(f"{item.type}_") else ""
        return item, "" if is_result(own) else own

    def _read_argument(self, block: ToolCallStreamBlock, item: _Item, field: str, payload: JsonObject) -> None:
        """A piece of a call's arguments: of their JSON text, or of one field."""
        if field not in ("arguments", "input"):
            self._write_argument(block, item, field, payload)
        elif block.is_complete:
            self._contradict("a call's arguments go on behind their end")
        else:
            self._grow(block, as_json_text(payload.get("delta")))

    def _read_whole_text(self, word: str, payload: JsonObject) -> None:
        """The end of a text, or of a part of it, which is told once more as a whole."""
        if word not in _TEXTS:
            self._read_whole_argument(word, payload)
            return
        whole = self._whole_text(_TEXTS[word][2], payload)
        item, block = self._text_block(word, payload)
        if block.kind is BlockKind.THINKING and block is item.block:
            self._think(item, _thought(word, payload), whole)
            return
        if isinstance(block, ToolCallStreamBlock):
            self._tell_tool(block, item, payload)
        self._complete_with(block, whole)

    def _whole_text(self, field: str, payload: JsonObject) -> str:
        """The text in `field`, which no other may tell otherwise: some clients take the first that they find."""
        whole = as_json_text(payload.get(field))
        if any(payload.get(key) and as_json_text(payload[key]) != whole for key in _WHOLES):
            self._contradict("the end of a text tells two")
        return whole

    def _read_whole_argument(self, word: str, payload: JsonObject) -> None:
        if not split_word(word)[1]:
            return
        item, field = self._other_item(word, payload)
        if not field or not isinstance(item.block, ToolCallStreamBlock):
            return
        if field in ("arguments", "input"):
            self._tell_tool(item.block, item, payload)
            self._complete_with(item.block, self._whole_text(field, payload))
        else:
            self._check_argument(item.block, item, field, payload)

    def _complete_with(self, block: StreamBlock, whole: str, is_complete: bool = True) -> None:
        """Add what of `whole` has not come yet; the block is then complete unless only a beginning was told."""
        rest = self._rest_of(block, whole)
        if block.is_sealed:
            return
        if rest:
            self._grow(block, rest)
        if is_complete:
            self._complete(block)

    def _rest_of(self, block: StreamBlock, whole: str) -> str:
        """What a text that is told as a whole has beyond what came; it has to go with that."""
        goes_on = len(whole) >= block.length and whole.startswith(block.text)
        if whole and not goes_on and not (block.kind is BlockKind.TOOL_CALL and is_same(whole, block.text)):
            self._contradict("a text is told again otherwise")
        elif goes_on and block.is_sealed and len(whole) > block.length:
            self._contradict("a text goes on behind its end")
        return whole[block.length :] if goes_on else ""

    def _build(self) -> JsonObject:
        return build_response(self.state, self.head, self.items)


def is_response(payload: JsonObject) -> bool:
    """Whether a payload is a whole response itself, whatever it says that it is.

    What came of a shell's commands is told as `output` too, but as no items.
    """
    output = payload.get("output")
    if payload.get("type") == "response.shell_call_output_content.done":
        return any("type" in item for item in objects(output))
    return isinstance(output, list | dict)


def _is_same_payload(payload: JsonObject, text: str) -> bool:
    """Whether a payload says what `text` does; what is encrypted is so anew each time."""
    before = as_input(text)
    return all(before.get(key) == value for key, value in payload.items() if key != "encrypted_content")


def _key(item: _Item, field: str) -> str:
    """The field of the arguments that an event's field is: `diff` for the `operation_diff` of an `operation`."""
    shape = CALLS.get(item.type)
    return field.removeprefix(f"{shape.carrier}_") if shape is not None and shape.carrier else field


def _thought(word: str, payload: JsonObject) -> tuple[str, int]:
    """Which part of the thinking an event is about: the list that holds it, and its number there."""
    if word == "reasoning_text":
        return "content", as_index(payload.get("content_index")) or 0
    return "summary", as_index(payload.get("summary_index")) or 0


def _is_other(item: _Item, details: JsonObject, is_done: bool) -> bool:
    """Whether `details` are of another item than the one at their place."""
    told = as_text(details.get("type"))
    is_call_now = isinstance(item.block, ToolCallStreamBlock)
    if item.block is not None and item.block.kind is BlockKind.OTHER and is_call(details):
        return True
    if item.type != told and not (is_call_now and told in CALLS):
        return True
    return item.is_done and (not is_done or as_text(details.get("id")) != item.id)
