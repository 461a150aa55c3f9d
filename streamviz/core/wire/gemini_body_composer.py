"""Writing Gemini's generateContent: a whole answer, rebuilt from upstream's."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import MediaStreamBlock, OtherStreamBlock, StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.body_composer import BodyComposer, stays
from streamviz.core.events import BlockKind, StreamFailed
from streamviz.core.json_value import JsonObject, encode, index_of, objects
from streamviz.core.wire.gemini import GeminiAggregator
from streamviz.core.wire.gemini_composer import FINISH_HALTED
from streamviz.core.wire.gemini_errors import error_of
from streamviz.core.wire.gemini_kept import kept_candidate, kept_top
from streamviz.core.wire.gemini_message import media_parts
from streamviz.core.wire.gemini_parts import call_part, owners_of, parts_of
from streamviz.core.wire.gemini_results import DeniedCalls
from streamviz.core.wire.thought_signatures import is_signed_part, sign_part


class GeminiBodyComposer(BodyComposer):
    """Rebuilds a whole answer from upstream's, `body`: parts that no policy touched stay as they are."""

    finish_without_calls: ClassVar[Mapping[str, str]] = {}
    finish_halted = FINISH_HALTED

    def _anew(self, state: StreamState) -> JsonObject:
        return _Answer(self._body, state).written()

    def fail(self, failure: StreamFailed) -> bytes:
        return encode(error_of(failure))


class _Answer:
    """An answer as it came in and as it is to go out."""

    def __init__(self, body: JsonObject, state: StreamState) -> None:
        self._body = body
        self._state = state
        aggregator = GeminiAggregator()
        data = encode(body)
        self._candidates = objects(body.get("candidates"))
        self._owners = owners_of(self._candidates, aggregator.aggregate(Chunk(0, 0, data, data)))
        self._own = aggregator.state.blocks
        self._written: set[int] = set()
        self._denied = DeniedCalls()
        for own, block in zip(self._own, state.blocks, strict=False):
            if own.kind is BlockKind.TOOL_CALL and block.kind is not BlockKind.TOOL_CALL:
                self._denied.add(own.ordinal, "", own.id)

    def written(self) -> JsonObject:
        candidates = [self._candidate(candidate, position) for position, candidate in enumerate(self._candidates)]
        is_changed = not all(map(self._is_same, self._own))
        return {**kept_top(self._body, is_changed), "candidates": candidates}

    def _is_same(self, own: StreamBlock) -> bool:
        return stays(own, self._state.blocks)

    def _candidate(self, candidate: JsonObject, position: int) -> JsonObject:
        number = index_of(candidate, position)
        own = [block for block in self._own if block.choice == number]
        if self._owners is not None and all(map(self._is_same, own)) and not self._more(number):
            return candidate
        kept = kept_candidate(candidate, self._state.finish_reasons.get(number), is_changed=True)
        owners = self._owners[position] if self._owners is not None else []
        parts: list[JsonObject] = []
        for part, ordinals in zip(parts_of(candidate), owners, strict=False):
            if not self._denied.takes(number, part, ordinals):
                parts += self._part(part, ordinals)
        parts += [part for block in self._more(number) for part in self._anew(block)]
        if any(is_signed_part(part) for part in parts_of(candidate) if part not in parts):
            parts = sign_part(parts)
        return {**kept, "content": {"role": "model", "parts": parts or [{"text": ""}]}}

    def _more(self, number: int) -> list[StreamBlock]:
        """The blocks that a policy added after upstream's; all blocks if it is not known which part each came from."""
        known = 0 if self._owners is None else len(self._own)
        return [block for block in self._state.blocks[known:] if block.choice == number]

    def _part(self, part: JsonObject, ordinals: Sequence[int]) -> list[JsonObject]:
        if all(self._is_same(self._own[ordinal]) for ordinal in ordinals):
            return [part] if ordinals else []
        blocks = [self._state.blocks[ordinal] for ordinal in ordinals if ordinal < len(self._state.blocks)]
        return [made for block in blocks for made in self._anew(block)]

    def _anew(self, block: StreamBlock) -> list[JsonObject]:
        """The parts of a changed block, written once: a text may come from several of upstream's parts."""
        if block.ordinal in self._written:
            return []
        self._written.add(block.ordinal)
        if isinstance(block, ToolCallStreamBlock):
            return [call_part(block.id, block.name, block.label, block.text)]
        if isinstance(block, MediaStreamBlock):
            return media_parts(block.label, block.text)
        if isinstance(block, OtherStreamBlock):
            return [call_part("", "", block.label, block.text)]
        thought: JsonObject = {"thought": True} if block.kind is BlockKind.THINKING else {}
        return [{"text": block.text, **thought}]
