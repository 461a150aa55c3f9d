"""A finished call leaves no reference cycles behind: the garbage collector runs rarely."""

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from streamviz.core.errors import UpstreamError
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.core.wire import OPENAI_CHAT
from streamviz.exchange.exchange import Exchange
from streamviz.live.feed import Feed
from streamviz.policies import build
from streamviz.proxy import calls
from streamviz.proxy.observers import Observers
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from streamviz.records.scoped_policies import ScopedPolicy
from tests.core.support import call, delta
from tests.core.support import calls as calling
from tests.exchange.support import event
from tests.records.support import ROOM

READS = [event(delta(content="hi")), event(calling(call(0, "c0", "rm", "{}"))), event(delta(finish="tool_calls"))]


class Answer:
    """What upstream sends; without its `[DONE]`, it breaks off."""

    status = 200
    headers = {"content-type": "text/event-stream"}
    left_out: tuple[str, ...] = ()
    has_ended = False

    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for data in self._reads:
            yield data
        if b"[DONE]" not in self._reads[-1]:
            raise UpstreamError(502, "it broke off")

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker()
    made.configuration.keys[digest("sv-a-key")] = KnownKey(1, "a-key")
    made.configuration.key_ids = frozenset([1])
    made.configuration.routes["m"] = KnownRoute("openai/x", "http://127.0.0.1:1", "")
    made.journal = Journal(tmp_path, ROOM)
    made.observers = Observers(made.journal, Feed())
    yield made
    made.journal.close()


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("is_judged", [True, False])
@pytest.mark.usefixtures("no_collector")
async def test_a_call_that_is_over_is_gone(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, is_judged: bool, leaves: bool, is_whole: bool
) -> None:
    if is_judged:
        rule = ActivePolicy(build("tool_rule", {"names": ["rm"]}), "rule", 1, 1, Mode.ENFORCE)
        worker.configuration.policies = (ScopedPolicy("rule", 1, Mode.ENFORCE, (), (), rule),)
    exchanges: list[weakref.ref[Exchange]] = []

    class Watched(Exchange):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            exchanges.append(weakref.ref(self))

    async def answer(*_: object) -> Answer:
        return Answer([*READS, event("[DONE]")] if is_whole else READS)

    monkeypatch.setattr(calls, "Exchange", Watched)
    monkeypatch.setattr(calls, "open_counted", answer)
    body = json.dumps({"model": "m", "stream": True, "messages": [], "temperature": 0.5}).encode()
    events: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]
    has_some = asyncio.Event()

    async def receive() -> Any:
        if events:
            return events.pop()
        await (has_some.wait() if leaves else asyncio.Event().wait())
        return {"type": "http.disconnect"}

    async def send(sent: Any) -> None:
        if sent.get("body"):
            has_some.set()
            await asyncio.sleep(0)

    headers = [(b"authorization", b"Bearer sv-a-key")]
    scope = {"type": "http", "method": "POST", "path": OPENAI_CHAT.path, "client": None, "headers": headers}
    await calls.model_call(OPENAI_CHAT, worker, cast(Any, scope), receive, send)
    worker.afterwards.finish()
    await asyncio.sleep(0)
    [stream] = worker.observers.feed.finished.values()
    assert stream.context.request.fields == {"stream": True, "temperature": 0.5}
    worker.observers.feed.finished.clear()
    del stream
    worker.observers.feed.take_changed()
    assert [exchange() for exchange in exchanges] == [None]
