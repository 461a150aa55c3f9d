"""Shared by the tests of the core: chunks from payloads, recorded streams, policies with fixed verdicts."""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamBlock, StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.calls import is_ordinary
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import ActivePolicy, Policy, Rest, no_rest
from streamviz.core.processor import StreamProcessor
from streamviz.core.sse import SSEParser
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer

HEAD: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


# Chunks


def sse(payload: object) -> bytes:
    """One `data:` event; a string is used as it is, anything else becomes JSON."""
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return f"data: {data}\n\n".encode()


def chunks(*payloads: object) -> list[Chunk]:
    """The chunks of a stream with these payloads; chunk n was received at n * 1000 µs."""
    return parse(b"".join(map(sse, payloads)))


def parse(data: bytes, size: int | None = None) -> list[Chunk]:
    """The chunks of `data`, fed whole or in pieces of `size` bytes."""
    parser = SSEParser()
    size = size or max(1, len(data))
    pieces = (data[start : start + size] for start in range(0, len(data), size))
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
    return [Chunk(seq, seq * 1000, event.raw, event.data, event.name) for seq, event in enumerate(events)]


def delta(choice: int = 0, finish: str | None = None, **fields: object) -> JsonObject:
    """A chat chunk with these fields in its delta."""
    return {**HEAD, "choices": [{"index": choice, "delta": fields, "finish_reason": finish}]}


def call(index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = None) -> JsonObject:
    """A piece of a tool call, without the members that are None."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    piece: JsonObject = {"function": function}
    if index is not None:
        piece["index"] = index
    if id is not None:
        piece |= {"id": id, "type": "function"}
    return piece


def calls(*pieces: JsonObject, **more: Any) -> JsonObject:
    """A chat chunk with pieces of tool calls."""
    return delta(tool_calls=list(pieces), **more)


# States


def aggregate(*payloads: object) -> StreamState:
    """The state at the end of a chat stream with these payloads."""
    return take_in(chunks(*payloads)).state


def take_in(stream: Iterable[Chunk]) -> OpenAIChatAggregator:
    aggregator = OpenAIChatAggregator()
    for chunk in stream:
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator


def told(state: StreamState) -> list[tuple[str, ...]]:
    """Each block as (kind, text), a tool call as (kind, id, name, arguments)."""
    return [_told(block) for block in state.blocks]


def _told(block: StreamBlock) -> tuple[str, ...]:
    if isinstance(block, ToolCallStreamBlock):
        return ("tool_call", block.id, block.name, block.arguments)
    return (str(block.kind), block.text)


def is_other(block: StreamBlock) -> bool:
    """Whether recorded streams' expectations count a block as `other`; calls other than functions' are included."""
    if isinstance(block, ToolCallStreamBlock):
        return not is_ordinary(block.label) and not block.is_free_text
    return block.kind.is_opaque


def signatures(state: StreamState) -> list[str]:
    return [block.signature for block in state.blocks if isinstance(block, ThinkingStreamBlock)]


# Policies


class Opinion(Policy):
    """Holds blocks of some kinds and returns what `decide` says about each."""

    kind = "opinion"
    parameters_schema = {}

    def __init__(
        self,
        decide: Callable[[StreamBlock], Verdict | None],
        kinds: Sequence[BlockKind] = (BlockKind.TOOL_CALL,),
    ) -> None:
        self._decide = decide
        self._kinds = kinds
        self.judged: list[str] = []

    def holds(self, block: StreamBlock) -> bool:
        return block.kind in self._kinds

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if block.kind not in self._kinds:
            return None
        self.judged.append(block.text)
        return self._decide(block)


def deny_names(*names: str, text: str = "[not allowed]") -> Opinion:
    """Denies the tool calls with these names."""

    def decide(block: StreamBlock) -> Verdict:
        assert isinstance(block, ToolCallStreamBlock)
        denied = block.name in names
        return Verdict(Decision.DENY, "listed", text) if denied else Verdict(Decision.ALLOW)

    return Opinion(decide)


class About(Policy):
    """Holds one block, whatever its kind, and gives it a fixed verdict."""

    kind = "about"
    parameters_schema = {}

    def __init__(self, ordinal: int, verdict: Verdict) -> None:
        self._ordinal = ordinal
        self._verdict = verdict

    def holds(self, block: StreamBlock) -> bool:
        return block.ordinal == self._ordinal

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        return self._verdict if block.ordinal == self._ordinal else None


def active(policy: Policy, mode: Mode = Mode.ENFORCE, *, name: str = "rule", fail_open: bool = False) -> ActivePolicy:
    return ActivePolicy(policy, name, version_id=7, version=3, mode=mode, fail_open=fail_open)


class Run:
    """A stream that went through a chain: what the client got, and what the context has recorded."""

    def __init__(
        self,
        policies: Sequence[ActivePolicy],
        composer: Composer | None = None,
        aggregator: Aggregator[Chunk, JsonObject] | None = None,
        rest: Rest = no_rest,
    ) -> None:
        ticks = itertools.count(1_000_000)
        self.context = ChainContext("run-1", lambda: next(ticks))
        self.chain = PolicyChain(policies, composer or OpenAIChatComposer(dict(HEAD)), rest=rest)
        aggregator = aggregator or OpenAIChatAggregator()
        self.processor = StreamProcessor(self.chain.on_chunk, aggregator, is_enforcing=self.chain.is_enforcing)
        self.context.state = self.processor.state

    async def take(self, *stream: Chunk) -> bytes:
        """What the client has once these chunks have been processed."""
        await self.processor.take(stream, self.context)
        return self.tape

    async def finish(self, stream: Iterable[Chunk] = ()) -> "Run":
        await self.processor.take(stream, self.context)
        await self.processor.end(self.context)
        return self

    @property
    def tape(self) -> bytes:
        return b"".join(frame.raw for frame in self.context.outbox)

    @property
    def client_state(self) -> StreamState:
        """The client tape as our own aggregator reads it."""
        return take_in(parse(self.tape)).state


async def run(policies: Sequence[ActivePolicy], *payloads: object) -> Run:
    return await Run(policies).finish(chunks(*payloads))
