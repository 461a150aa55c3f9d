"""A call that an executor answers, with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.errors import ClientFacingError
from streamviz.core.json_value import JsonObject
from streamviz.core.sse import SSEEvent, SSEParser
from streamviz.executors.builtin_tools import BuiltIn
from streamviz.executors.call import Asked
from streamviz.executors.child import Proposed, Spent
from streamviz.executors.tools import Source, Toolbox
from streamviz.upstream.answer import Answer
from streamviz.upstream.structured import Structure

HEAD = {"object": "chat.completion.chunk", "created": 7, "model": "m"}
USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def plan(action: str = "finished", *uses: JsonObject, thought: str = "Hm.", side_by_side: bool = True) -> str:
    """A step as a model writes it."""
    told = {"thought": thought, "next_action": action, "tools_to_use": uses, "concurrent_execution": side_by_side}
    return json.dumps(told)


def use(name: str, **arguments: object) -> JsonObject:
    """A tool that a step uses."""
    return {"name": name, "arguments": json.dumps(arguments), "reason": "Because."}


def said(*texts: str, **beside: object) -> list[JsonObject]:
    """The chunks of an answer as providers send them: content is null at its end and in the chunk with usage."""
    deltas = [{"role": "assistant", "content": text} for text in texts]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}], **beside} for delta in deltas]
    end = {"choices": [{"index": 0, "delta": {"content": None}, "finish_reason": "stop"}]}
    return [{"id": f"c{n}", **HEAD, **chunk} for n, chunk in enumerate([*chunks, end, {"choices": [], "usage": USAGE}])]


class Spoken:
    """A call of a run whose answer is these chunks; an error among them is raised, an event awaited."""

    def __init__(self, chunks: Sequence[Any], spent: Spent) -> None:
        self.is_closed = False
        self._chunks = chunks
        self.spent = spent

    async def __aiter__(self) -> AsyncIterator[JsonObject]:
        for chunk in self._chunks:
            if isinstance(chunk, ClientFacingError):
                raise chunk
            if isinstance(chunk, asyncio.Event):
                await chunk.wait()
                continue
            yield chunk

    async def close(self) -> None:
        self.is_closed = True


Judge = Callable[[Sequence[Proposed]], Awaitable[Sequence[Proposed]]]


class Scripted:
    """A client's call; `answers` are what the model says, one per call, with the last repeated. `judge` decides which
    proposed calls go through."""

    def __init__(
        self,
        *answers: Sequence[Any],
        wire_format: str = "openai_chat",
        is_streaming: bool = True,
        wants_events: bool = False,
        sources: Sequence[Source] = (BuiltIn(),),
        structure: Structure = Structure.SCHEMA,
        judge: Judge | None = None,
        **fields: object,
    ) -> None:
        request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields}
        self.asked = Asked("run-1", wire_format, "m", request, is_streaming, wants_events)
        self.requests: dict[str, JsonObject] = {}
        self.children: list[Spoken] = []
        self.proposed: list[Sequence[Proposed]] = []
        self.most_output: int | None = None
        self.spent = Spent(USAGE, 0.5)
        self._answers = list(answers)
        self._sources = sources
        self._structure = structure
        self._judge = judge

    async def pass_through(self) -> Answer:
        raise NotImplementedError

    async def as_chat(self) -> JsonObject:
        return self.asked.fields

    async def structure(self) -> Structure:
        return self._structure

    def ask(self, part: str, request: JsonObject) -> Spoken:
        self.requests[part] = request
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.children.append(Spoken(answer, self.spent))
        return self.children[-1]

    def propose(self, part: str, calls: Sequence[Proposed]) -> Any:
        self.proposed.append(calls)
        return _Judged(calls, self._judge)

    def tools(self, names: Sequence[str], seconds: float) -> Toolbox:
        return Toolbox(self._sources, names, seconds)


class _Judged:
    def __init__(self, calls: Sequence[Proposed], judge: Judge | None) -> None:
        self._calls = calls
        self._judge = judge
        self.spent = Spent({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, 0.0)

    async def __aiter__(self) -> AsyncIterator[JsonObject]:
        calls = self._calls if self._judge is None else await self._judge(self._calls)
        for index, call in enumerate(calls):
            function = {"name": call.name, "arguments": call.arguments}
            piece = {"index": index, "id": call.id, "type": "function", "function": function}
            yield {"choices": [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}]}

    async def close(self) -> None:
        """Nothing to release."""


async def bytes_of(answer: Answer) -> bytes:
    """Everything that an answer sends."""
    return b"".join([piece async for piece in answer])


def payloads(stream: bytes) -> list[Any]:
    """The payloads of a stream's events; the last event must be `[DONE]`."""
    parser = SSEParser()
    events = [*parser.feed(stream), *parser.close()]
    assert events[-1].data == b"[DONE]", events[-1]
    return [json.loads(event.data) for event in events[:-1] if event.data]


def aggregated(aggregator: Aggregator[Chunk, JsonObject], data: bytes, *, is_streaming: bool) -> None:
    """Have an aggregator take in an answer to its end."""
    parser = SSEParser()
    events = [*parser.feed(data), *parser.close()] if is_streaming else [SSEEvent(data, data)]
    for seq, event in enumerate(events):
        aggregator.aggregate(Chunk(seq, seq, event.raw, event.data, event.name))
    aggregator.close()
