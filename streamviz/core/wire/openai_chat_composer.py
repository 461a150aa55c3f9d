"""Writing OpenAI's chat completions: events as `chat.completion.chunk` frames.

Blocks that no verdict changes keep upstream's frames, each reduced to the members it is known to have.
"""

from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass

from streamviz.core import sse
from streamviz.core.aggregator import Chunk
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
)
from streamviz.core.json_value import JsonObject, as_object, encode, index_of, object_in, objects
from streamviz.core.wire.openai_chat_kept import kept_choice, kept_top
from streamviz.core.wire.openai_chat_kept_words import kept_words
from streamviz.core.wire.openai_chat_writer import ChatWriter
from streamviz.core.wire.thought_signatures import is_signed_call
from streamviz.core.wire.translation import OPENAI_CHAT


@dataclass(slots=True)
class _Part:
    """A chunk, parts of which may go out as they came: what was read in it, what the client is to get, which blocks are
    changed."""

    read: Sequence[StreamEvent]
    said: Sequence[StreamEvent]
    touched: Set[int]
    # The calls that its pieces belong to, in their order.
    calls: deque[int]
    begun: set[int]
    # By choice.
    thinking: dict[int, str]
    kinds: dict[int, set[BlockKind]]
    reasons: dict[int, str]


class OpenAIChatComposer(ChatWriter):
    """Writes a stream. `head` holds its id, created and model, and is read again for each frame.

    `source` is the format that the events come from. If it is another format, everything is composed, and `end()`
    writes usage and `[DONE]`.
    """

    def __init__(self, head: JsonObject, source: str = OPENAI_CHAT) -> None:
        super().__init__(head, source)
        # The kind and choice of upstream's blocks; by choice, the kinds of block that verdicts changed anything in.
        self._blocks: dict[int, tuple[BlockKind, int]] = {}
        self._changed: dict[int, set[BlockKind]] = {}

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        if chunk is not None and not events and chunk.data is not None and b'"role"' in chunk.data:
            self._note_roles(object_in(chunk.data))
        self._note(events)
        for event in events:
            if isinstance(event, BlockStarted):
                self._has_role.add(event.choice)
                self._started[event.ordinal] = event
                if event.kind is BlockKind.TOOL_CALL:
                    self._number_call(event, event.index)

    def carry(self, chunk: Chunk, events: Sequence[StreamEvent]) -> list[bytes] | None:
        return self.carry_part(chunk, events, events, frozenset())

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        self._note(read)
        payload = object_in(chunk.data)
        part = self._part(read, said, touched)
        if self._is_translating or not payload or any(isinstance(event, StreamFailed) for event in read):
            return None
        choices = objects(payload.get("choices"))
        if touched and any(isinstance(as_object(choice.get("delta")).get("content"), list) for choice in choices):
            # Its parts may be of several kinds.
            return None
        self._number(part)
        return self._frames_of(chunk, payload, choices, part)

    def _note(self, events: Sequence[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, BlockStarted):
                self._blocks[event.ordinal] = (event.kind, event.choice)

    def _note_roles(self, payload: JsonObject) -> None:
        for position, choice in enumerate(objects(payload.get("choices"))):
            if as_object(choice.get("delta")).get("role"):
                self._has_role.add(index_of(choice, position))

    def _part(self, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]) -> _Part:
        part = _Part(read, said, touched, deque(), set(), {}, {}, {})
        for ordinal in touched:
            kind, choice = self._blocks[ordinal]
            part.kinds.setdefault(choice, set()).add(kind)
            self._changed.setdefault(choice, set()).add(kind)
        for event in read:
            if isinstance(event, BlockDelta):
                kind, choice = self._blocks[event.ordinal]
                if kind is BlockKind.TOOL_CALL:
                    part.calls.append(event.ordinal)
                elif kind is BlockKind.THINKING:
                    part.thinking[choice] = part.thinking.get(choice, "") + event.text
        part.reasons = {event.choice: event.reason for event in said if isinstance(event, StreamFinished)}
        return part

    def _number(self, part: _Part) -> None:
        """Number the calls that go out as they came, too."""
        for event in part.read:
            if isinstance(event, BlockStarted) and event.ordinal not in part.touched:
                self._has_role.add(event.choice)
                self._started[event.ordinal] = event
                if event.kind is BlockKind.TOOL_CALL:
                    part.begun.add(event.ordinal)
                    self._number_call(event, None)

    def _frames_of(self, chunk: Chunk, payload: JsonObject, choices: Sequence[JsonObject], part: _Part) -> list[bytes]:
        """Frames of what is kept, then of what is composed in place of the rest, and last of the ends of choices."""
        kept = [self._kept(choice, index_of(choice, position), part) for position, choice in enumerate(choices)]
        top = kept_top(payload, {kind for kinds in self._changed.values() for kind in kinds})
        if not part.touched:
            own = {**top, "choices": kept} if "choices" in payload else top
            return [chunk.raw if own == payload else sse.write_event(encode(own), chunk.name)]
        before = [{**choice, "finish_reason": None} for choice in kept if choice["delta"]]
        ends = [{**choice, "delta": {}, "logprobs": None} for choice in kept if choice.get("finish_reason")]
        usage = {key: top.pop(key) for key in ("usage", "x_groq") if key in top}
        frames = [sse.write_event(encode({**top, "choices": before}), chunk.name)] if before else []
        for event in part.said:
            about = (BlockStarted, BlockDelta, BlockCompleted, BlockSealed)
            if isinstance(event, about) and event.ordinal in part.touched and (frame := self._frame(event)):
                frames.append(frame)
        if ends or any(usage.values()):
            frames.append(sse.write_event(encode({**top, "choices": ends, **usage}), chunk.name))
        return frames

    def _kept(self, choice: JsonObject, number: int, part: _Part) -> JsonObject:
        delta = as_object(choice.get("delta"))
        changed: Set[BlockKind] = self._changed.get(number, set())
        words = kept_words(delta, part.thinking.get(number, ""), part.kinds.get(number, frozenset()), changed)
        if pieces := [piece for call in objects(delta.get("tool_calls")) if (piece := self._kept_piece(call, part))]:
            words["tool_calls"] = pieces
        if as_object(delta.get("function_call")) and part.calls.popleft() not in part.touched:
            words["function_call"] = delta["function_call"]
        if words.get("role"):
            self._has_role.add(number)
        reason = part.reasons.get(number, choice.get("finish_reason"))
        return {**kept_choice(choice, delta, reason, changed), "delta": words}

    def _kept_piece(self, call: JsonObject, part: _Part) -> JsonObject:
        """A piece of a call that is allowed, complete; nothing for any other call."""
        ordinal = part.calls.popleft()
        if ordinal in part.touched:
            self._unsigned |= {self._blocks[ordinal][1]} if is_signed_call(call) else set()
            return {}
        piece: JsonObject = {**call, "index": self._calls[ordinal]}
        if ordinal in part.begun:
            piece = self._signed(self._blocks[ordinal][1], piece)
        if not piece.get("type", ""):
            # SDKs go by the last type that a call has; some providers leave it out, or send null for it later.
            piece.pop("type", None)
            piece |= {"type": "function"} if ordinal in part.begun and "function" in call else {}
        return piece
