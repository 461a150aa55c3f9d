"""Writing OpenAI's responses: events as the frames of a response stream, and upstream's own frames beside them."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import ClassVar

import msgspec

from streamviz.core import sse
from streamviz.core.aggregator import DONE, Aggregator, Chunk
from streamviz.core.blocks import new_block
from streamviz.core.calls import FREE_TEXT, Runner, runner_of
from streamviz.core.composer import Composer
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject, as_index, as_list, as_object, as_text, decode, encode, objects
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator, is_response
from streamviz.core.wire.openai_responses_calls import is_call
from streamviz.core.wire.openai_responses_items import (
    ITEM_TYPES,
    Frame,
    OutputBlock,
    OutputItem,
    add,
    begin,
    close,
    end,
    grow,
)
from streamviz.core.wire.openai_responses_matching import KnownItems
from streamviz.core.wire.openai_responses_message import kept_head, text_of
from streamviz.core.wire.translation import OPENAI_RESPONSES, Ending, ending_of, translate_reason, translate_usage

# A response without calls has the same status as one with them.
FINISH_WITHOUT_CALLS: Mapping[str, str] = {}
# Not a status of the format: it is told as `incomplete`, with this as the details' reason.
HALTED = "content_filter"
_ADDED = "response.output_item.added"
_DONE = "response.output_item.done"
_PART_ADDED = "response.reasoning_summary_part.added"
# Names of events that say something of an item though no event of ours comes of them; "" where upstream names none.
_TELLING = ("", _ADDED, _PART_ADDED)
_PARTS = (BlockKind.CONTENT, BlockKind.REFUSAL, BlockKind.OTHER, BlockKind.THINKING)
_ENDED = ("completed", "incomplete", "failed", "cancelled")
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
_EMPTY: JsonObject = {
    "id": "",
    "object": "response",
    "created_at": 0,
    "model": "",
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}


class OpenAIResponsesComposer(Composer):
    """Writes a stream.

    `head` holds the response's fields (id, created_at, model), read anew for each frame. Without a `source`, what is
    composed follows upstream's own frames, of which those that nothing is changed in are carried over; the response
    ends with upstream's. With a `source`, the format that the events come from, all is composed, and `end()` writes
    the end.
    """

    finish_without_calls: ClassVar[Mapping[str, str]] = FINISH_WITHOUT_CALLS
    finish_halted = HALTED

    def __init__(self, head: JsonObject, source: str = "") -> None:
        self._head = head
        self._source = source
        self._is_foreign = source not in ("", OPENAI_RESPONSES)
        self._items: list[OutputItem] = []
        self._ids: set[str] = set()
        self._blocks: dict[int, OutputBlock] = {}
        # By the place that events give an item, and by what upstream's frames call it.
        self._places: dict[int, OutputItem] = {}
        self._by_wire: dict[int, OutputItem] = {}
        self._by_id: dict[str, OutputItem] = {}
        self._known: KnownItems[OutputItem] = KnownItems()
        # Of calls that the client does not get: by these, what came of them names them.
        self._gone: set[str] = set()
        # The chunk at hand: what it says, which items in it are new, the blocks that are to go out otherwise.
        self._payload: JsonObject = {}
        self._fresh: deque[tuple[int | None, JsonObject]] = deque()
        self._changed: Set[int] | None = None
        self._is_rewriting = bool(source)
        self._next_place = 0
        self._next_number = 0
        self._has_begun = False
        self._has_calls = False
        self._reason = ""
        self._is_finished = False
        self._usage: JsonObject | None = None
        self._failure: StreamFailed | None = None
        self._decoded: tuple[Chunk, JsonObject] | None = None

    # What the client gets as upstream's own

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        self._count(chunk)
        self._has_begun = True
        if chunk is not None and _tells_items(events, chunk):
            self._look_at(self._decode(chunk))
        self._follow(events)
        self._look_away()

    def catch_up(self, aggregator: Aggregator[Chunk, JsonObject], last: Chunk) -> None:
        if isinstance(aggregator, OpenAIResponsesAggregator):
            for place, details in aggregator.items.items():
                self._places[place] = self._add_item(as_text(details.get("type")), place, details, is_added=True)
        super().catch_up(aggregator, last)
        for item in self._items:
            item.is_whole = item.is_done = bool(item.blocks) and not item.open
        number = as_index(self._decode(last).get("sequence_number"))
        self._next_number = last.seq + 1 if number is None else number + 1

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        payload = self._decode(chunk)
        if self._source or not payload:
            return None
        self._is_rewriting = True
        self._look_at(payload)
        frames = self._carry(payload, events)
        self._look_away()
        if frames is None:
            return self._compose_for(chunk, events, frozenset())
        return [self._rewritten(chunk, payload, frame) for frame in frames]

    def _carry(self, payload: JsonObject, events: Sequence[StreamEvent]) -> list[JsonObject] | None:
        if "response" in payload:
            self._follow(events)
            return [self._response_frame(payload)]
        item = self._at_hand or self._item_of(events)
        if item is not None and item.type == "message" and not _is_in_place(item, payload, events):
            return None
        item = self._follow(events) or item
        if item is None:
            return [payload] if _says_nothing(payload) else []
        if item.is_gone or not _is_carried(item, payload):
            return []
        self._has_begun = True
        return [{**payload, "output_index": item.place} if "output_index" in payload else payload]

    def _rewritten(self, chunk: Chunk, payload: JsonObject, frame: JsonObject) -> bytes:
        number, self._next_number = self._next_number, self._next_number + 1
        told = {**frame, "sequence_number": number}
        return chunk.raw if told == payload else sse.write_event(encode(told), chunk.name)

    def _follow(self, events: Sequence[StreamEvent]) -> OutputItem | None:
        """Keep up with what the client gets as upstream's own; the item that it is about, if it is about one."""
        item = self._at_hand
        for event in events:
            match event:
                case BlockStarted():
                    item = self._upstreams_item(event)
                    self._hold(event, item)
                case BlockDelta() if (held := self._blocks.get(event.ordinal)) is not None:
                    held.block.grow(event)
                    item = held.item
                case BlockSealed() if (held := self._blocks.get(event.ordinal)) is not None and not held.is_ended:
                    held.is_ended = True
                    held.item.open -= 1
                    item = held.item
                    item.is_done = item.is_done or not item.open
                case UsageUpdated():
                    self._usage = event.usage
                case StreamFinished():
                    self._is_finished = True
                case _:
                    pass
        self._tell(item)
        if item is not None and self._payload.get("type") == _DONE and not item.open:
            item.is_done = True
        return item

    def _upstreams_item(self, event: BlockStarted) -> OutputItem:
        place = self._next_place if event.index is None else event.index
        item = self._places.get(place)
        if item is None or (item.type != "message" and item.blocks):
            wire, details = self._next_fresh(event, place)
            type = as_text(details.get("type")) or _type_of(event)
            item = self._places[place] = self._add_item(type, wire, details, is_added=True)
        return item

    # What a chunk says of items

    @property
    def _at_hand(self) -> OutputItem | None:
        """The known item that the chunk is about."""
        index, id = as_index(self._payload.get("output_index")), _id_in(self._payload)
        named = self._by_id.get(id)
        if named is not None and (index is None or named.wire == index):
            return named
        return named if index is None else self._by_wire.get(index, named)

    def _look_at(self, payload: JsonObject) -> None:
        """Begin with a chunk."""
        self._payload = payload
        response = _response_in(payload)
        if response is not None:
            self._fresh.extend(self._new_items(response))
            return
        index, details = as_index(payload.get("output_index")), as_object(payload.get("item"))
        self._fresh.append((index, details or {"id": _id_in(payload)}))
        if payload.get("type") == _ADDED and details.get("type") == "message" and self._at_hand is None:
            # It can have begun for the client before there is a block in it.
            place = self._next_place if index is None else index
            if place not in self._places:
                self._fresh.clear()
                self._places[place] = self._add_item("message", index, details, is_added=True)
        if payload.get("type") == _PART_ADDED and (item := self._at_hand) is not None:
            item.thoughts = max(item.thoughts, (as_index(payload.get("summary_index")) or 0) + 1)

    def _decode(self, chunk: Chunk) -> JsonObject:
        """Once a chunk: it can tell of thousands of items."""
        if self._decoded is None or self._decoded[0] is not chunk:
            self._decoded = chunk, _payload(chunk)
        return self._decoded[1]

    def _look_away(self) -> None:
        self._payload, self._changed = {}, None
        self._fresh.clear()

    def _new_items(self, response: JsonObject) -> Iterator[tuple[int | None, JsonObject]]:
        """The items of a response of which no frame told; the others are told as a whole now."""
        finder = self._known.finder()
        for position, details in enumerate(objects(response.get("output"))):
            item = finder.find(position, details)
            if item is not None:
                item.told, item.is_whole = details, True
            elif details.get("type") != "message" or as_list(details.get("content")):
                yield position, details

    def _next_fresh(self, event: BlockStarted, place: int) -> tuple[int | None, JsonObject]:
        wire, details = self._fresh.popleft() if self._fresh else (place, {})
        return wire, details if "type" in details else {**details, "type": _type_of(event)}

    def _tell(self, item: OutputItem | None) -> None:
        """Keep upstream's own item as it was told last."""
        if item is None or not (details := as_object(self._payload.get("item"))):
            return
        item.told, item.is_whole = details, self._payload.get("type") == _DONE
        self._bind(item, as_index(self._payload.get("output_index")), details)

    def _bind(self, item: OutputItem, wire: int | None, details: JsonObject) -> None:
        if wire is not None:
            item.wire = wire
            self._by_wire[wire] = item
        if id := as_text(details.get("id")):
            self._by_id[id] = item

    def _add_item(self, type: str, wire: int | None, details: JsonObject, *, is_added: bool = False) -> OutputItem:
        """An item of the client's; `details` are upstream's own where it stands for that."""
        is_gone = type.endswith("_output") and self._is_of_gone(details)
        place = self._next_place if self._is_rewriting or wire is None else wire
        id = as_text(details.get("id")) if details.get("type") == type else ""
        if not id or (id in self._ids and self._is_rewriting):
            id = f"{_PREFIXES.get(type, 'item')}_{'' if self._source else 'made_'}{place}"
        is_whole = self._payload.get("type") == _DONE or _response_in(self._payload) is not None
        item = OutputItem(place, type, id, wire, details, is_whole=is_whole, is_added=is_added, is_gone=is_gone)
        self._known.add(item, details, place if wire is None else wire)
        self._bind(item, wire, details)
        if not is_gone:
            self._ids.add(item.id)
            self._next_place = max(self._next_place, place + 1)
            self._items.append(item)
        return item

    def _is_of_gone(self, details: JsonObject) -> bool:
        return any(as_text(details.get(key)) in self._gone for key in ("call_id", "id"))

    def _item_of(self, events: Sequence[StreamEvent]) -> OutputItem | None:
        """The known item that the first event about a block is about."""
        for event in events:
            match event:
                case BlockStarted():
                    return None if event.index is None else self._places.get(event.index)
                case BlockDelta() | BlockCompleted() | BlockSealed():
                    held = self._blocks.get(event.ordinal)
                    return None if held is None else held.item
                case _:
                    pass
        return None

    def _hold(self, event: BlockStarted, item: OutputItem) -> OutputBlock:
        held = self._blocks[event.ordinal] = OutputBlock(new_block(event, 0, 0), item, len(item.blocks), event.label)
        if item.type != "message":
            held.position = item.thoughts
        item.blocks.append(held)
        item.open += 1
        return held

    # What is composed

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        return None if self._source else self._compose_for(chunk, said, touched)

    def denied(self, call: BlockStarted) -> None:
        self._gone.add(call.id)

    def _compose_for(self, chunk: Chunk, events: Sequence[StreamEvent], changed: Set[int]) -> list[bytes]:
        """Compose what takes the place of a chunk; what is not `changed` keeps upstream's items and parts."""
        self._is_rewriting = True
        self._look_at(self._decode(chunk))
        self._changed = changed
        if (item := self._at_hand) is not None and item.type == "message":
            self._note_gone(as_object(self._payload.get("item")))
        return self.compose(events)

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        frames = [self._write(frame) for event in events for frame in self._frames(event)]
        if self._reason and not self._source:
            frames += self.end()
        self._look_away()
        return frames

    def end(self) -> list[bytes]:
        return [self._write(frame) for frame in self._finish()]

    def whole(self, response: JsonObject) -> JsonObject:
        """`response`, upstream's own, as the client is to have it."""
        told = {**kept_head(response), "output": self._output(response)}
        if "output_text" in response:
            told["output_text"] = text_of(told["output"] if isinstance(told["output"], list) else [])
        return told

    def keep_alive(self) -> bytes:
        return sse.write_comment("keep-alive")

    def fail(self, failure: StreamFailed) -> bytes:
        self._look_away()
        self._failure, self._reason, self._source = failure, "failed", OPENAI_RESPONSES
        error = [self._write(frame) for frame in self._error(failure)]
        return b"".join([*error, *self.end()])

    def _count(self, chunk: Chunk | None) -> None:
        """Follow upstream's numbers: what is composed next goes on from them."""
        if chunk is not None and (chunk.data is None or chunk.data.startswith(DONE)):
            return
        if chunk is not None and not self._has_begun:
            self._next_number = as_index(self._decode(chunk).get("sequence_number")) or 0
        self._next_number += 1

    def _frames(self, event: StreamEvent) -> Iterator[Frame]:
        match event:
            case BlockStarted() if event.choice == 0 and not self._is_finished:
                yield from self._start(event)
            case BlockDelta() if (held := self._blocks.get(event.ordinal)) is not None:
                yield from self._grow(held, event)
            case BlockCompleted() | BlockSealed() if (held := self._blocks.get(event.ordinal)) is not None:
                yield from self._complete(held, isinstance(event, BlockSealed))
            case UsageUpdated():
                self._usage = translate_usage(event.usage, self._source or OPENAI_RESPONSES, OPENAI_RESPONSES)
            case StreamFinished() if event.choice == 0:
                self._reason = event.reason
            case StreamFailed():
                self._failure = event
                yield from self._error(event)
            case _:
                pass

    def _start(self, event: BlockStarted) -> Iterator[Frame]:
        own = _in_own_words(event) if self._is_foreign else event
        if own is None:
            return
        yield from self._begin()
        self._has_calls = self._has_calls or own.kind is BlockKind.TOOL_CALL
        item = None if self._is_foreign or own.index is None else self._places.get(own.index)
        if item is None or not _continues(item, own):
            if self._source:
                yield from self._settle()
            item = self._new_item(own)
        held = self._hold(own, item)
        self._mark(held)
        if not item.is_gone:
            yield from begin(held)

    def _mark(self, held: OutputBlock) -> None:
        """Whether the client gets the block otherwise than upstream sent it; without a chunk nothing is upstream's."""
        if self._changed is None or held.block.ordinal in self._changed or held.block.index is None:
            held.is_ours = held.item.is_ours = True

    def _new_item(self, event: BlockStarted) -> OutputItem:
        if self._is_foreign or event.index is None:
            return self._add_item(_type_of(event), None, {})
        wire, details = self._next_fresh(event, event.index)
        type = as_text(details.get("type"))
        if event.kind is not BlockKind.TOOL_CALL:
            self._note_gone(details)
        if type != "message" and event.kind not in (BlockKind.TOOL_CALL, BlockKind.OTHER):
            type = _type_of(event)
        item = self._places[event.index] = self._add_item(type, wire, details)
        return item

    def _note_gone(self, details: JsonObject) -> None:
        """A call is denied: what comes of it where the provider carries it out is not for the client either."""
        if is_call(details):
            self._gone.update(text for key in ("call_id", "id") if (text := as_text(details.get(key))))

    def _grow(self, held: OutputBlock, delta: BlockDelta) -> Iterator[Frame]:
        if held.item.is_gone:
            return
        if held.is_ended:
            # Its end was written; what still came is a block of its own.
            block = held.block
            yield from self._start(BlockStarted(block.ordinal, block.kind))
            held = self._blocks[delta.ordinal]
        self._mark(held)
        yield from grow(held, delta)

    def _complete(self, held: OutputBlock, is_sealed: bool) -> Iterator[Frame]:
        if held.item.is_gone:
            return
        # A call that is complete may still grow where the format interleaves calls.
        if is_sealed or held.block.kind is not BlockKind.TOOL_CALL:
            if self._is_foreign and held.block.kind is BlockKind.TOOL_CALL and not held.block.length:
                # Clients of this format read the arguments as JSON even where there are none.
                yield from grow(held, BlockDelta(held.block.ordinal, "{}"))
            yield from end(held)
        if is_sealed and not held.item.open:
            yield from self._close(held.item)

    def _close(self, item: OutputItem) -> Iterator[Frame]:
        if self._payload:
            self._tell(item)
        yield from close(item)

    def _settle(self) -> Iterator[Frame]:
        """What the last item still owes before the next can begin: its end, if only a part could have continued it."""
        if self._items:
            last = self._items[-1]
            yield from add(last) if last.open else close(last)

    def _begin(self) -> Iterator[Frame]:
        if not self._has_begun:
            self._has_begun = True
            yield "response.created", {"response": self._response("in_progress")}
            yield "response.in_progress", {"response": self._response("in_progress")}

    def _finish(self) -> Iterator[Frame]:
        if self._is_finished:
            return
        yield from self._begin()
        upstreams = None if self._reason == HALTED else _response_in(self._payload)
        is_cut = self._reason in ("", "failed", HALTED)
        for item in self._items:
            yield from close(item, "incomplete" if is_cut and item.open else "completed")
        status = self._status()
        word = status if status in ("incomplete", "failed") else "completed"
        whole = self._response(status) if upstreams is None else self.whole(upstreams)
        yield f"response.{word}", {"response": whole}
        self._is_finished = True

    def _status(self) -> str:
        if self._reason == HALTED or not self._reason:
            return "incomplete"
        return translate_reason(
            self._reason, self._source or OPENAI_RESPONSES, OPENAI_RESPONSES, has_calls=self._has_calls
        )

    def _response_frame(self, payload: JsonObject) -> JsonObject:
        """Upstream's own frame of a whole response, with the items that the client has."""
        response = as_object(payload.get("response"))
        self._has_begun = True
        if response.get("status") in _ENDED or as_text(payload.get("type")).removeprefix("response.") in _ENDED:
            self._is_finished = True
        return {**payload, "response": self.whole(response)}

    def _output(self, response: JsonObject) -> object:
        """The items that the client has, of those that upstream's own response lists."""
        if not isinstance(response.get("output"), list):
            return response.get("output")
        finder, listed, other = self._known.finder(), {}, []
        for position, details in enumerate(objects(response["output"])):
            item = finder.find(position, details)
            if item is not None and not item.is_gone:
                listed[item.place] = item.whole()
            elif item is None and details.get("type") == "message" and not details.get("content"):
                other.append(details)
        listed.update({item.place: item.whole() for item in self._items if item.is_ours and item.is_added})
        return [*(listed[place] for place in sorted(listed)), *other]

    def _response(self, status: str) -> JsonObject:
        own = {"id", "created_at", "model"}
        head = {key: value for key, value in kept_head(self._head).items() if key in own or not self._is_foreign}
        ended = status != "in_progress"
        error: JsonObject | None = None
        if self._failure is not None:
            error = {"code": self._failure.code or "server_error", "message": self._failure.message}
        return {
            **_EMPTY,
            **head,
            "status": status,
            "error": error,
            "incomplete_details": self._incomplete_details() if status == "incomplete" else None,
            "output": self._all() if ended else [],
            "usage": self._usage if ended else None,
        }

    def _all(self) -> list[JsonObject]:
        return [item.whole() for item in sorted(self._items, key=lambda item: item.place)]

    def _incomplete_details(self) -> object:
        if (told := self._head.get("incomplete_details")) and not self._is_foreign:
            return told
        if self._reason == HALTED:
            return {"reason": HALTED}
        ending = ending_of(self._reason, self._source or OPENAI_RESPONSES)
        return {"reason": "content_filter" if ending is Ending.FILTERED else "max_output_tokens"}

    def _error(self, failure: StreamFailed) -> Iterator[Frame]:
        has_begun = self._has_begun
        yield from self._begin()
        told: JsonObject = {"code": failure.code or failure.kind or None, "message": failure.message, "param": None}
        # Clients know an error in the place of an answer by this name, and raise.
        yield "error", told if has_begun else {**told, "error": {**told, "type": failure.kind or "server_error"}}

    def _write(self, frame: Frame) -> bytes:
        name, fields = frame
        number, self._next_number = self._next_number, self._next_number + 1
        return sse.write_event(encode({"type": name, **fields, "sequence_number": number}), name)


def _tells_items(events: Sequence[StreamEvent], chunk: Chunk) -> bool:
    """Whether a chunk that passes may say something of an item: nearly all are text, and need not be read for that."""
    if events:
        return any(isinstance(event, BlockStarted | BlockSealed) for event in events)
    return chunk.name in _TELLING


def _continues(item: OutputItem, event: BlockStarted) -> bool:
    """Whether a block goes into an item that has begun: as another part of a message, or as what it began for."""
    if item.is_done:
        return False
    if item.type == "message":
        return event.kind in _PARTS
    return not item.blocks and item.type == _type_of(event)


def _is_in_place(item: OutputItem, payload: JsonObject, events: Sequence[StreamEvent]) -> bool:
    """Whether a part of a message has the same place for the client as for upstream."""
    index = as_index(payload.get("content_index"))
    if index is None:
        return True
    begins = any(isinstance(event, BlockStarted) for event in events)
    return index == len(item.blocks) if begins else index < len(item.blocks)


def _is_carried(item: OutputItem, payload: JsonObject) -> bool:
    """Whether a frame is about nothing that was changed."""
    if not item.is_ours:
        return True
    index = as_index(payload.get("content_index"))
    return item.type == "message" and index is not None and not item.blocks[index].is_ours


def _says_nothing(payload: JsonObject) -> bool:
    """Whether a frame that names no item can be about none: it is an error, or has no text."""
    if payload.get("type") == "error":
        return True
    return not any(isinstance(value, str | list | dict) for key, value in payload.items() if key != "type")


def _in_own_words(event: BlockStarted) -> BlockStarted | None:
    """Another format's block in this one's words; None for what has no place here, as what its provider runs."""
    if event.kind is BlockKind.OTHER or (event.label and runner_of(event.label) is Runner.PROVIDER):
        return None
    label = "custom_tool_call" if event.label in FREE_TEXT else ""
    return msgspec.structs.replace(event, label=label) if event.label else event


def _type_of(event: BlockStarted) -> str:
    """The type of a block's item, by the block alone."""
    if event.kind in (BlockKind.TOOL_CALL, BlockKind.OTHER) and event.label:
        return event.label
    return ITEM_TYPES.get(event.kind, "")


def _id_in(payload: JsonObject) -> str:
    """The id of the item that a frame is about."""
    return as_text(payload.get("item_id")) or as_text(as_object(payload.get("item")).get("id"))


def _response_in(payload: JsonObject) -> JsonObject | None:
    """The whole response that a frame, or a body, tells."""
    if payload.get("object") == "response" or is_response(payload):
        return payload
    response = payload.get("response")
    return response if isinstance(response, dict) else None


def _payload(chunk: Chunk) -> JsonObject:
    try:
        return as_object(decode(chunk.data or b""))
    except ValueError:
        return {}
