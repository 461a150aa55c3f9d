"""Writing OpenAI's chat completions: a whole `chat.completion`, rebuilt from upstream's."""

from collections import Counter
from collections.abc import Sequence

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.body_composer import BodyComposer, stays
from streamviz.core.calls import LEGACY_CALL
from streamviz.core.events import BlockDelta, BlockKind, StreamFailed
from streamviz.core.json_value import JsonObject, as_object, as_text, encode, index_of, objects
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_kept import kept_choice, kept_top
from streamviz.core.wire.openai_chat_kept_words import kept_words
from streamviz.core.wire.openai_chat_message import by_choice, call_of, message_of
from streamviz.core.wire.openai_chat_writer import FINISH_WITHOUT_CALLS, failed_body
from streamviz.core.wire.thought_signatures import is_signed_call, sign_call


class OpenAIChatBodyComposer(BodyComposer):
    """Rebuilds a whole answer from upstream's, `body`: choices that no policy touched stay as they are, the others are
    built from what the policies left of them."""

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_halted = "content_filter"

    def _anew(self, state: StreamState) -> JsonObject:
        return _Answer(self._body, state).written()

    def fail(self, failure: StreamFailed) -> bytes:
        return failed_body(failure)


class _Answer:
    """An answer as it came in and as it is to go out."""

    def __init__(self, body: JsonObject, state: StreamState) -> None:
        self._body = body
        self._state = state
        aggregator = OpenAIChatAggregator()
        data = encode(body)
        # Which call each piece of a call was read for, in the order of the pieces.
        self._read_for = [event.ordinal for event in aggregator.aggregate(Chunk(0, 0, data, data))
                          if isinstance(event, BlockDelta)
                          and aggregator.state.blocks[event.ordinal].kind is BlockKind.TOOL_CALL]  # fmt: skip
        self._own = aggregator.state.blocks
        self._pieces = iter(self._read_for)
        self._count = Counter(self._read_for)

    def written(self) -> JsonObject:
        blocks, own = by_choice(self._state.blocks), by_choice(self._own)
        changed: set[BlockKind] = set()
        choices: list[JsonObject] = []
        for position, choice in enumerate(objects(self._body.get("choices"))):
            number = index_of(choice, position)
            kinds = self._changed_kinds(own.get(number, []))
            calls = self._calls(as_object(choice.get("message")))
            changed |= kinds
            choices.append(self._choice(choice, number, blocks.get(number, []), kinds, calls) if kinds else choice)
        return {**(kept_top(self._body, changed) if changed else self._body), "choices": choices}

    def _changed_kinds(self, own: Sequence[StreamBlock]) -> set[BlockKind]:
        return {block.kind for block in own if not self._is_same(block)}

    def _is_same(self, own: StreamBlock) -> bool:
        return stays(own, self._state.blocks)

    def _calls(self, message: JsonObject) -> dict[int, JsonObject]:
        """Upstream's own object for each call that came in one piece."""
        pieces = objects(message.get("tool_calls"))
        if as_object(message.get("function_call")):
            pieces = [*pieces, as_object(message["function_call"])]
        return {
            ordinal: piece for piece, ordinal in zip(pieces, self._pieces, strict=False) if self._count[ordinal] == 1
        }

    def _choice(
        self,
        choice: JsonObject,
        number: int,
        blocks: list[StreamBlock],
        changed: set[BlockKind],
        calls: dict[int, JsonObject],
    ) -> JsonObject:
        own = as_object(choice.get("message"))
        thinking = "".join(block.text for block in blocks if block.kind is BlockKind.THINKING)
        message = {**kept_words(own, thinking, changed, changed), **message_of(blocks)}
        if BlockKind.THINKING not in changed and not isinstance(own.get("content"), list):
            # Thinking stays in the field in which its provider put it.
            message = {key: value for key, value in message.items() if key != "reasoning_content" or key in own}
        spoken = as_text(as_object(message.get("audio")).get("transcript"))
        if spoken and spoken != own.get("content"):
            # That part of the content is the transcript of upstream's own audio.
            message["content"] = as_text(message["content"]).replace(spoken, "", 1) or None
        tools = [block for block in blocks if isinstance(block, ToolCallStreamBlock)]
        if "tool_calls" in message:
            said = [self._call(block, calls) for block in tools if block.label != LEGACY_CALL]
            is_lost = any(is_signed_call(call) for call in calls.values() if call not in said)
            message["tool_calls"] = [sign_call(said[0]), *said[1:]] if is_lost else said
        reason = self._state.finish_reasons.get(number, choice.get("finish_reason"))
        return {**kept_choice(choice, own, reason, changed), "message": message}

    def _call(self, block: ToolCallStreamBlock, calls: dict[int, JsonObject]) -> JsonObject:
        is_own = block.ordinal in calls and self._is_same(self._own[block.ordinal])
        return calls[block.ordinal] if is_own else call_of(block)
