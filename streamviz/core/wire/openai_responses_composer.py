"""Writing OpenAI's responses: events as the frames of a response stream, or as one `response`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from streamviz.core import sse
from streamviz.core.aggregator import DONE, Aggregator, Chunk
from streamviz.core.blocks import new_block
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
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, decode, encode
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
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
from streamviz.core.wire.translation import OPENAI_RESPONSES, Ending, ending_of, translate_reason, translate_usage

# A response without calls has the same status as one with them.
FINISH_WITHOUT_CALLS: Mapping[str, str] = {}
# Not a status of the format: it is told as `incomplete`, with this as the details' reason.
HALTED = "content_filter"
_ADDED = "response.output_item.added"
_PARTS = (BlockKind.CONTENT, BlockKind.REFUSAL, BlockKind.OTHER)
# Kinds of block whose item only upstream's own can name.
_OWN_TYPES = ((BlockKind.TOOL_CALL, "custom_tool_call"), (BlockKind.OTHER, "message"))
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

    `head` holds the response's fields (id, created_at, model) and `items` upstream's own items by place, both read
    anew for each frame; without `items` they are learned from the chunks that pass. Without a `source`, what is
    composed follows upstream's own frames, and the response ends with upstream's. With a `source`, the format that the
    events come from, all is composed, and `end()` writes the end.
    """

    finish_without_calls: ClassVar[Mapping[str, str]] = FINISH_WITHOUT_CALLS
    finish_halted = HALTED

    def __init__(self, head: JsonObject, items: Mapping[int, JsonObject] | None = None, source: str = "") -> None:
        self._head = head
        self._learned: dict[int, JsonObject] = {}
        self._upstream = self._learned if items is None else items
        self._source = source
        self._is_foreign = source not in ("", OPENAI_RESPONSES)
        self._items: list[OutputItem] = []
        self._ids: set[str] = set()
        self._open: dict[int, OutputItem] = {}
        self._blocks: dict[int, OutputBlock] = {}
        self._next_place = 0
        self._next_number = 0
        self._has_begun = False
        self._has_calls = False
        self._reason = ""
        self._is_finished = False
        self._usage: JsonObject | None = None
        self._failure: StreamFailed | None = None

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        self._count(chunk)
        self._has_begun = True
        if chunk is not None and not events:
            self._pass_added(chunk)
        for event in events:
            match event:
                case BlockStarted():
                    place = self._next_place if event.index is None else event.index
                    self._learn(place, event.kind, chunk)
                    self._hold(event, self._passed_item(event, place))
                case BlockDelta():
                    self._blocks[event.ordinal].block.grow(event)
                case BlockSealed():
                    held = self._blocks[event.ordinal]
                    held.is_ended = held.item.is_done = True
                    self._learn(held.item.place, held.block.kind, chunk)
                case UsageUpdated():
                    self._usage = event.usage
                case _:
                    pass

    def catch_up(self, aggregator: Aggregator[Chunk, JsonObject], last: Chunk) -> None:
        if isinstance(aggregator, OpenAIResponsesAggregator):
            self._learned.update(aggregator.items)
        super().catch_up(aggregator, last)
        number = as_index(_payload(last).get("sequence_number"))
        self._next_number = last.seq + 1 if number is None else number + 1

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        frames = [self._write(frame) for event in events for frame in self._frames(event)]
        if self._reason and not self._source:
            frames += self.end()
        return frames

    def end(self) -> list[bytes]:
        return [self._write(frame) for frame in self._finish()]

    def output(self) -> list[JsonObject]:
        """The items that the client has."""
        return [item.whole() for item in self._items]

    def keep_alive(self) -> bytes:
        return sse.write_comment("keep-alive")

    def fail(self, failure: StreamFailed) -> bytes:
        self._failure, self._reason, self._source = failure, "failed", OPENAI_RESPONSES
        error = [self._write(frame) for frame in self._error(failure)]
        return b"".join([*error, *self.end()])

    def _count(self, chunk: Chunk | None) -> None:
        """Follow upstream's numbers: what is composed next goes on from them."""
        if chunk is not None and (chunk.data is None or chunk.data.startswith(DONE)):
            return
        if chunk is not None and not self._has_begun:
            self._next_number = as_index(_payload(chunk).get("sequence_number")) or 0
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
        if event.kind is BlockKind.OTHER and self._is_foreign:
            # Another format's own kinds have no place in this one.
            return
        yield from self._begin()
        self._has_calls = self._has_calls or event.kind is BlockKind.TOOL_CALL
        source = None if self._is_foreign else event.index
        item = None if source is None else self._open.get(source)
        if item is None or not _continues(item, event):
            yield from self._settle()
            item = self._new_item(event, source)
        held = self._hold(event, item)
        yield from begin(held)

    def _new_item(self, event: BlockStarted, source: int | None) -> OutputItem:
        told = {} if source is None else self._upstream.get(source, {})
        kind = ITEM_TYPES.get(event.kind, event.label)
        if (event.kind, told.get("type")) in _OWN_TYPES:
            kind = as_text(told["type"])
        elif told.get("type") != kind:
            source = None
        item = OutputItem(self._next_place, kind, source, self._upstream)
        if item.id in self._ids:
            item.id = f"{item.id}_{item.place}"
        self._ids.add(item.id)
        self._next_place += 1
        self._items.append(item)
        if source is not None:
            self._open[source] = item
        return item

    def _learn(self, place: int, kind: BlockKind, chunk: Chunk | None) -> None:
        """Keep what `chunk` says of upstream's item: the client knows its id, and it ends as upstream ended it."""
        if chunk is None or self._upstream is not self._learned:
            return
        payload = _payload(chunk)
        if item := as_object(payload.get("item")):
            self._learned[place] = item
        elif id := as_text(payload.get("item_id")):
            self._learned.setdefault(place, {"id": id, "type": ITEM_TYPES.get(kind, "")})

    def _passed_item(self, event: BlockStarted, place: int) -> OutputItem:
        item = self._open.get(place)
        if item is None or (item.type != "message" and item.blocks):
            kind = as_text(self._upstream.get(place, {}).get("type")) or ITEM_TYPES.get(event.kind, event.label)
            item = self._add_passed(place, kind)
        return item

    def _add_passed(self, place: int, kind: str) -> OutputItem:
        item = self._open[place] = OutputItem(place, kind, place, self._upstream, is_added=True)
        self._items.append(item)
        self._ids.add(item.id)
        self._next_place = max(self._next_place, place + 1)
        return item

    def _pass_added(self, chunk: Chunk) -> None:
        """An item can have begun for the client before there is a block in it."""
        if chunk.name not in ("", _ADDED):
            return
        payload = _payload(chunk)
        item, place = as_object(payload.get("item")), as_index(payload.get("output_index"))
        if payload.get("type") == _ADDED and place is not None and place not in self._open:
            if self._upstream is self._learned:
                self._learned[place] = item
            self._add_passed(place, as_text(item.get("type")))

    def _hold(self, event: BlockStarted, item: OutputItem) -> OutputBlock:
        held = self._blocks[event.ordinal] = OutputBlock(new_block(event, 0, 0), item, len(item.blocks), event.label)
        item.blocks.append(held)
        return held

    def _grow(self, held: OutputBlock, delta: BlockDelta) -> Iterator[Frame]:
        if held.is_ended:
            # Its end was written; what still came is a block of its own.
            block = held.block
            yield from self._start(BlockStarted(block.ordinal, block.kind))
            held = self._blocks[delta.ordinal]
        yield from grow(held, delta)

    def _complete(self, held: OutputBlock, is_sealed: bool) -> Iterator[Frame]:
        # A call that is complete may still grow where the format interleaves calls.
        if is_sealed or held.block.kind is not BlockKind.TOOL_CALL:
            if self._is_foreign and held.block.kind is BlockKind.TOOL_CALL and not held.block.length:
                # Clients of this format read the arguments as JSON even where there are none.
                yield from grow(held, BlockDelta(held.block.ordinal, "{}"))
            yield from end(held)
        if is_sealed and all(other.is_ended for other in held.item.blocks):
            yield from close(held.item)

    def _settle(self) -> Iterator[Frame]:
        """What the last item still owes before the next can begin: its end, if only a part could have continued it."""
        if not self._items:
            return
        last = self._items[-1]
        yield from close(last) if all(held.is_ended for held in last.blocks) else add(last)

    def _begin(self) -> Iterator[Frame]:
        if not self._has_begun:
            self._has_begun = True
            yield "response.created", {"response": self._response("in_progress")}
            yield "response.in_progress", {"response": self._response("in_progress")}

    def _finish(self) -> Iterator[Frame]:
        if self._is_finished:
            return
        yield from self._begin()
        for item in self._items:
            yield from close(item)
        source = self._source or OPENAI_RESPONSES
        status = "incomplete"
        if self._reason:
            status = translate_reason(self._reason, source, OPENAI_RESPONSES, has_calls=self._has_calls)
        if self._reason == HALTED:
            status = "incomplete"
        word = status if status in ("incomplete", "failed") else "completed"
        yield f"response.{word}", {"response": self._response(status)}
        self._is_finished = True

    def _response(self, status: str) -> JsonObject:
        own = {"id", "created_at", "model"}
        head = {key: value for key, value in self._head.items() if key in own or not self._is_foreign}
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
            "output": self.output() if ended else [],
            "usage": self._usage if ended else None,
        }

    def _incomplete_details(self) -> object:
        if (told := self._head.get("incomplete_details")) and not self._is_foreign:
            return told
        if self._reason == HALTED:
            return {"reason": HALTED}
        ending = ending_of(self._reason, self._source or OPENAI_RESPONSES)
        return {"reason": "content_filter" if ending is Ending.FILTERED else "max_output_tokens"}

    def _error(self, failure: StreamFailed) -> Iterator[Frame]:
        yield from self._begin()
        yield "error", {"code": failure.code or failure.kind or None, "message": failure.message, "param": None}

    def _write(self, frame: Frame) -> bytes:
        name, fields = frame
        number, self._next_number = self._next_number, self._next_number + 1
        return sse.write_event(encode({"type": name, **fields, "sequence_number": number}), name)


def _continues(item: OutputItem, event: BlockStarted) -> bool:
    """Whether a block goes into an item that has begun: as another part of a message, or as what it began for."""
    if item.is_done:
        return False
    if item.type == "message":
        return event.kind in _PARTS
    return not item.blocks and item.type == ITEM_TYPES.get(event.kind, event.label)


def _payload(chunk: Chunk) -> JsonObject:
    try:
        return as_object(decode(chunk.data or b""))
    except ValueError:
        return {}
