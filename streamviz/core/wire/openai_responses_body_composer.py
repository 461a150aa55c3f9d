"""Writing a whole response of OpenAI's, as one body."""

from collections.abc import Mapping, Sequence, Set
from typing import ClassVar

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.body_composer import said_by
from streamviz.core.composer import Composer
from streamviz.core.events import BlockStarted, StreamEvent, StreamFailed, StreamFinished
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.wire.openai_chat_writer import failed_body
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from streamviz.core.wire.openai_responses_whole import FINISH_WITHOUT_CALLS, HALTED

_ENDS = (StreamFailed, StreamFinished)


class OpenAIResponsesBodyComposer(Composer):
    """Rebuilds a whole answer from upstream's, `body`, keeping every item that policies do not touch."""

    finish_without_calls: ClassVar[Mapping[str, str]] = FINISH_WITHOUT_CALLS
    finish_halted = HALTED

    def __init__(self, body: JsonObject) -> None:
        self._body = body
        self._composer = OpenAIResponsesComposer(body)

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        """Do nothing: nothing follows an answer that went out whole."""

    def denied(self, block: BlockStarted) -> None:
        self._composer.denied(block)

    def carry_part(
        self, chunk: Chunk, read: Sequence[StreamEvent], said: Sequence[StreamEvent], touched: Set[int]
    ) -> list[bytes] | None:
        self._composer.carry_part(chunk, read, [event for event in said if not isinstance(event, _ENDS)], touched)
        return [encode(self._composer.whole(self._body))]

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        if not any(isinstance(event, BlockStarted) for event in events):
            # The body came as one chunk; these are what the end of input adds.
            return []
        said = [event for event in events if not isinstance(event, _ENDS)]
        data = encode(self._body)
        chunk = Chunk(0, 0, data, data)
        aggregator = OpenAIResponsesAggregator()
        aggregator.aggregate(chunk)
        self._composer.carry_part(chunk, (), said, _changed(aggregator.state.blocks, said))
        self._composer.leave_out(aggregator.state.blocks, said)
        body = self._composer.whole(self._body)
        if any(isinstance(event, StreamFinished) and event.reason == HALTED for event in events):
            body |= {"status": "incomplete", "incomplete_details": {"reason": HALTED}}
        return [encode(body)]

    def keep_alive(self) -> bytes:
        # White space before a JSON value means nothing.
        return b" "

    def fail(self, failure: StreamFailed) -> bytes:
        return failed_body(failure)


def _changed(blocks: Sequence[StreamBlock], said: Sequence[StreamEvent]) -> Set[int]:
    """Those of upstream's blocks that are to go out differently."""
    state = StreamState()
    for event in said:
        state.apply(event)
    own = list(map(said_by, blocks))
    return {block.ordinal for block in state.blocks if said_by(block) not in own[block.ordinal : block.ordinal + 1]}
