"""Sentences whole, and no more than one apology."""

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_text
from streamviz.core.policy import Policy

ENDS = (".", "!", "?", "\n")


class WholeSentences(Policy):
    """Sends text a sentence at a time, and halts at the second `apology`."""

    def __init__(self, parameters: JsonObject) -> None:
        self._apology = as_text(parameters.get("apology")) or "I'm sorry"

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        waiting = context.memory_of(self).setdefault("waiting", [])
        assert isinstance(waiting, list)
        if chunk is not None:
            waiting.append(chunk)
        text = "".join(block.text for block in state.blocks if block.kind is BlockKind.CONTENT)
        if text.count(self._apology) > 1:
            context.terminate()
        elif chunk is None or text.endswith(ENDS) or state.just_completed:
            for each in waiting:
                context.send(each)
            waiting.clear()
