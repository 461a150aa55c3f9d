"""What was said in a stream, for spans that include it: what the record has of it, and nothing else."""

import json
from collections.abc import Iterator
from uuid import UUID

from streamviz.core.events import BlockKind
from streamviz.core.request_outline import outline_of, parts_of, system_of
from streamviz.core.request_parts import Part, PartKind
from streamviz.core.wire import WIRE_FORMATS
from streamviz.proxy.telemetry.conventions import Attributes
from streamviz.records.block_record import BlockRecord
from streamviz.records.recorder import AnyEntry, Recorder, StreamClosed, StreamOpened

# A span is not a record: it has the newest turns, and the beginning of what is said in each.
_MOST_TURNS = 20
_MOST_BLOCKS = 100
_LONGEST_TEXT = 4_000

Message = dict[str, object]


class Said:
    """The request and the blocks of a stream that ended."""

    def __init__(self, opened: StreamOpened) -> None:
        self.opened = opened
        self.closed: StreamClosed | None = None

    def attributes(self) -> Attributes:
        """The span's attributes. Takes some milliseconds for a long request."""
        wire_format = WIRE_FORMATS[self.opened.wire_format]
        outline = outline_of(self.opened.request, wire_format)
        turns = outline.turns[outline.system_turns :][-_MOST_TURNS:]
        asked = [message for turn in turns for message in _messages(parts_of(turn, wire_format))]
        blocks = self.closed.blocks[:_MOST_BLOCKS] if self.closed else []
        answered = [{"role": "assistant", "parts": parts}] if (parts := [_part_of(block) for block in blocks]) else []
        system = system_of(outline)[:_LONGEST_TEXT]
        found = {
            "gen_ai.system_instructions": [{"type": "text", "content": system}] if system else [],
            "gen_ai.input.messages": asked,
            "gen_ai.output.messages": answered,
        }
        return {name: json.dumps(said) for name, said in found.items() if said}


class Contents:
    """A Recorder that keeps what spans need of running streams. It comes after the recorders that leave out or mask."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._said: dict[UUID, Said] = {}

    def append(self, entry: AnyEntry) -> None:
        if isinstance(entry, StreamOpened):
            self._said[entry.stream_id] = Said(entry)
        elif isinstance(entry, StreamClosed) and entry.stream_id in self._said:
            self._said[entry.stream_id].closed = entry
        self._recorder.append(entry)

    def flush(self) -> None:
        self._recorder.flush()

    def has_lost(self, stream_id: UUID) -> bool:
        return self._recorder.has_lost(stream_id)

    def take(self, stream_id: UUID) -> Said | None:
        """What was said in a stream, which is then no longer kept."""
        return self._said.pop(stream_id, None)


def _messages(parts: list[Part]) -> Iterator[Message]:
    for part in parts:
        yield {"role": part.role or "user", "parts": [_as_told(part)]}


def _as_told(part: Part) -> Message:
    said = part.text[:_LONGEST_TEXT]
    match part.kind:
        case PartKind.TOOL_CALL:
            return {"type": "tool_call", "id": part.call_id, "name": part.name, "arguments": said}
        case PartKind.TOOL_RESULT:
            return {"type": "tool_call_response", "id": part.call_id, "response": said}
        case PartKind.THINKING:
            return {"type": "reasoning", "content": said}
        case PartKind.MEDIA:
            return {"type": "media", "name": part.name, "size": part.size}
        case _:
            return {"type": "text", "content": said}


def _part_of(block: BlockRecord) -> Message:
    said = block.text[:_LONGEST_TEXT]
    if block.kind == BlockKind.TOOL_CALL:
        return {"type": "tool_call", "id": block.upstream_id, "name": block.name, "arguments": said}
    return {"type": "reasoning" if block.kind == BlockKind.THINKING else "text", "content": said}
