"""What a call offers its executor: its way upstream, calls of its own, and tools."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from asgiref.typing import ASGISendCallable

from streamviz.core import sse
from streamviz.core.aggregator import DONE
from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_text, encode
from streamviz.core.model_names import SIMULATOR
from streamviz.core.wire import OPENAI_CHAT
from streamviz.exchange.stream import LiveStream
from streamviz.executors.builtin_tools import BuiltIn
from streamviz.executors.call import Asked, Call
from streamviz.executors.child import Proposed
from streamviz.executors.executor import Executor
from streamviz.executors.passthrough import NoParameters
from streamviz.executors.registry import PASSTHROUGH
from streamviz.executors.tools import Source, Toolbox
from streamviz.proxy import http
from streamviz.proxy.beginning import Caller, Part
from streamviz.proxy.child_call import ChildCall
from streamviz.proxy.leaving import Leaving
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.said import Said
from streamviz.records.moments import Clock
from streamviz.upstream.answer import Answer
from streamviz.upstream.loading import load
from streamviz.upstream.prices import most_output
from streamviz.upstream.structured import Structure, structure_of
from streamviz.upstream.targets import Target

EVENTS = b"x-streamviz-events"
Serve = Callable[[Caller, ModelRequest, Leaving, ASGISendCallable], Awaitable[None]]


@dataclass(frozen=True, eq=False)
class RunningCall:
    """A client's call, as an executor sees it. `passed` sends the request to its target, `serve` serves a call.
    `left_out` is what had no place in the request's chat form."""

    caller: Caller
    stream: LiveStream
    said: Said
    request: ModelRequest
    target: Target
    passed: Callable[[], Awaitable[Answer]]
    serve: Serve
    left_out: list[str] = field(default_factory=list)

    @property
    def asked(self) -> Asked:
        request, wants = self.request, http.header(self.caller.scope, EVENTS).strip()
        wire_format, tells_events = self.caller.wire_format.name, wants == "reasoning"
        return Asked(
            f"run-{self.stream.id}", wire_format, request.model, request.fields, request.is_streaming, tells_events
        )

    async def pass_through(self) -> Answer:
        return await self.passed()

    async def as_chat(self) -> JsonObject:
        wire_format = self.caller.wire_format
        if wire_format is OPENAI_CHAT:
            return self.request.fields
        if wire_format.is_of_numbers:
            message = f"{wire_format.path} cannot be used in a run, which writes an answer. Leave out the executor."
            raise RequestError(400, message, code="unsupported_endpoint")
        chat, left_out = await asyncio.to_thread(_as_chat, self.request.fields, self.target)
        self.left_out.extend(left_out)
        return chat

    async def structure(self) -> Structure:
        return await structure_of(self.target)

    @property
    def most_output(self) -> int | None:
        return most_output(self.target.model, self.target.provider)

    def ask(self, part: str, request: JsonObject) -> ChildCall:
        return self._child(part, self._bounded(request), PASSTHROUGH)

    def propose(self, part: str, calls: Sequence[Proposed]) -> ChildCall:
        content = "\n".join(f"{call.name}({call.arguments})" for call in calls)
        fields: JsonObject = {"messages": [{"role": "user", "content": content}], "stream": True}
        usage: JsonObject = {"stream_options": {"include_usage": True}}
        return self._child(part, {"model": self.request.model, **fields, **usage}, Proposing(calls))

    def tools(self, names: Sequence[str], seconds: float) -> Toolbox:
        sources: list[Source] = [BuiltIn(), *self.caller.worker.configuration.mcp_servers]
        return Toolbox(sources, names, seconds)

    def _bounded(self, request: JsonObject) -> JsonObject:
        """The request with its limit on output under this model's name for it: some models refuse the usual name."""
        if "max_tokens" not in request or self.target.provider == SIMULATOR:
            return request
        from streamviz.upstream.provider_formats import bound_of  # `structure` has loaded it

        bound = bound_of(self.target.provider, self.target.model)
        return {bound if name == "max_tokens" else name: value for name, value in request.items()}

    def _child(self, name: str, fields: JsonObject, executor: Executor) -> ChildCall:
        clock = Clock()
        child = ChildCall()
        part = Part(name, self.stream, self.said, executor, child.came_to)
        caller = replace(self.caller, wire_format=OPENAI_CHAT, clock=clock, requested_at=clock.now(), part=part)
        request = ModelRequest(encode(fields), fields, as_text(fields["model"]), is_streaming=True)
        return child.begin(partial(self.serve, caller, request))


class Proposing(Executor):
    """Answers with the tool calls of a plan, as if a model had made them, so that policies and people judge them."""

    name = ""
    calls_model = False
    Parameters = NoParameters

    def __init__(self, calls: Sequence[Proposed]) -> None:
        super().__init__(NoParameters())
        self._calls = calls

    async def open(self, call: Call) -> Answer:
        return _Said(call.asked, self._calls)


class _Said:
    """The answer with these calls. It took no tokens."""

    status = 200
    headers: Mapping[str, str] = {"content-type": "text/event-stream; charset=utf-8"}
    left_out: tuple[str, ...] = ()
    has_ended = False

    def __init__(self, asked: Asked, calls: Sequence[Proposed]) -> None:
        self._head = {"id": asked.id, "object": "chat.completion.chunk", "created": 0, "model": asked.model}
        self._calls = calls

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for index, call in enumerate(self._calls):
            function = {"name": call.name, "arguments": call.arguments}
            piece = {"index": index, "id": call.id, "type": "function", "function": function}
            yield self._chunk({"role": "assistant", "tool_calls": [piece]})
        yield self._chunk({}, "tool_calls")
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        yield sse.write_event(encode({**self._head, "choices": [], "usage": usage})) + sse.write_event(DONE)

    def close(self) -> None:
        """Nothing is open."""

    def _chunk(self, delta: JsonObject, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return sse.write_event(encode({**self._head, "choices": [choice]}))


def _as_chat(fields: JsonObject, target: Target) -> tuple[JsonObject, tuple[str, ...]]:
    """A request of the target's format as a chat request, and what was left out of it. Raises RequestError for
    something that has no place there although the answer depends on it."""
    load()
    from streamviz.upstream.fitting import fit  # loaded on demand: upstream/loading.py
    from streamviz.upstream.formats import translated_format

    try:
        fitted = fit(target, fields, as_chat=True)
        chat = translated_format(target).as_chat(target, fitted.request)
    except RequestError as error:
        if error.code != "unsupported_parameter":
            raise
        message = (
            f"`{error.param}` cannot be used in a run, which calls its model in OpenAI's chat format. Leave it or"
            " the executor out."
        )
        raise RequestError(400, message, code=error.code, param=error.param) from error
    return chat, fitted.left_out
