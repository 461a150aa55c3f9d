"""Runs in one process: a scripted model, and helpers for calls that wait for a person."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from streamviz.core.errors import UpstreamError
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import OPENAI_CHAT
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.stream import LiveStream
from streamviz.policies import build
from streamviz.proxy import calls
from streamviz.proxy.worker import Worker
from streamviz.records.scoped_policies import ScopedPolicy
from tests.exchange.support import event
from tests.executors.support import payloads, plan, use

USES = plan("use_tools", use("wait", seconds=0), use("count_words", text="a b"))


class Model:
    """A scripted model: one answer, or error, per call. `requests` are those that reached it."""

    def __init__(self, *answers: Sequence[Any] | UpstreamError) -> None:
        self.requests: list[Any] = []
        self.closed = 0
        self._answers = list(answers)

    async def open(self, worker: Worker, stream: LiveStream, request: Any, *_: object) -> Any:
        self.requests.append(request.fields)
        answer = self._answers.pop(0)
        if isinstance(answer, UpstreamError):
            raise answer
        return _Answer(self, answer)


class _Answer:
    status = 200
    headers = {"content-type": "text/event-stream"}
    left_out: tuple[str, ...] = ()
    has_ended = False

    def __init__(self, model: Model, chunks: Sequence[Any]) -> None:
        self._model = model
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, asyncio.Event):
                await chunk.wait()
            else:
                yield event(chunk)
        yield event("[DONE]")

    def close(self) -> None:
        self._model.closed += 1


def guard(worker: Worker, by_hand: ByHand | None = None) -> None:
    """Deny `wait` by a policy; with `by_hand`, a person has the last word."""
    rule = ActivePolicy(build("tool_rule", {"names": ["wait"]}), "guard", 1, 1, Mode.ENFORCE, by_hand=by_hand)
    worker.configuration.policies = (ScopedPolicy("guard", 1, Mode.ENFORCE, (), (), rule),)


async def held(worker: Worker) -> LiveStream:
    """The stream that waits for a person."""
    while True:
        for stream in worker.observers.feed.running.values():
            if any(hold.asks is not None for hold in stream.context.holds.values()):
                return stream
        await asyncio.sleep(0)


async def decide(worker: Worker, decision: Decision) -> None:
    """Decide the call that waits for a person."""
    stream = await held(worker)
    [asks] = [hold.asks for hold in stream.context.holds.values() if hold.asks is not None]
    assert stream.decide is not None
    while not stream.decide(asks, decision, "alice"):
        await asyncio.sleep(0)  # the question is about to be asked


class Client:
    """Requests a run; `leave` hangs up. `data` is the body that it got, after `status` and `headers`."""

    def __init__(
        self,
        worker: Worker,
        model: str = "sim/m",
        wire_format: WireFormat = OPENAI_CHAT,
        beside: Mapping[str, object] | None = None,
        **headers: str,
    ) -> None:
        self.data = b""
        self.status = 0
        self.headers: dict[str, str] = {}
        self._has_left = asyncio.Event()
        said = [{"role": "user", "content": "Hi"}]
        asked = {"model": model, "stream": True, wire_format.turns: said, **(beside or {})}
        body = json.dumps(asked).encode()
        self._events: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]
        told = {"authorization": "Bearer sv-a-key", "x-streamviz-executor": "reasoning", **headers}
        sent = [(name.encode(), value.encode()) for name, value in told.items()]
        scope: Any = {"type": "http", "method": "POST", "path": wire_format.path, "client": None, "headers": sent}
        self.call = asyncio.ensure_future(
            calls.model_call(wire_format, worker, scope, self._receive, cast(Any, self._send))
        )

    def leave(self) -> None:
        self._has_left.set()

    async def _receive(self) -> Any:
        if self._events:
            return self._events.pop()
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, sent: Any) -> None:
        self.status = sent.get("status", self.status)
        self.headers |= {name.decode(): value.decode() for name, value in sent.get("headers", ())}
        self.data += sent.get("body", b"")


def thinking(client: Client) -> str:
    return "".join(
        choice["delta"].get("reasoning_content", "") for chunk in payloads(client.data) for choice in chunk["choices"]
    )


async def over(client: Client, worker: Worker) -> None:
    """Wait until nothing of the run is left."""
    await client.call
    while worker.observers.feed.running:
        await asyncio.sleep(0)
