"""Sentences whole, and no more than one apology."""

from dataclasses import dataclass, field

from streamviz.policy import BlockDelta, BlockKind, Chunk, JsonObject, Policy, StreamingContext, StreamState

ENDS = (".", "!", "?", "\n")


@dataclass
class Read:
    """What the policy remembers of one stream: the chunks that wait, the end of the text, and what was found in it."""

    waiting: list[Chunk] = field(default_factory=list)
    ending: str = ""
    is_whole: bool = False
    apologies: int = 0


class WholeSentences(Policy):
    """Sends text a sentence at a time, and halts at the second `apology`."""

    def __init__(self, parameters: JsonObject) -> None:
        self._apology = str(parameters.get("apology") or "I'm sorry")

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        read = context.memory_of(self).setdefault("read", Read())
        assert isinstance(read, Read)
        if chunk is not None:
            read.waiting.append(chunk)
        self._read(read, state)
        if read.apologies > 1:
            context.terminate()
        elif chunk is None or read.is_whole or state.just_completed:
            for each in read.waiting:
                context.send(each)
            read.waiting.clear()

    def _read(self, read: Read, state: StreamState) -> None:
        """Take in what this chunk brought. Each piece of text is looked at once, with as much of what stands before it
        as an apology could begin in, so that a long answer costs no more a chunk than a short one."""
        for event in state.events:
            if isinstance(event, BlockDelta) and event.text and state.blocks[event.ordinal].kind is BlockKind.CONTENT:
                text = read.ending + event.text
                read.apologies += text.count(self._apology)
                read.ending = text[max(0, len(text) - len(self._apology) + 1) :]
                read.is_whole = text.endswith(ENDS)
