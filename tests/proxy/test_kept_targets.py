"""A worker's cached targets are those of the routes in force."""

import asyncio
import threading

import pytest

from streamviz.proxy import kept_targets as module
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownRoute
from streamviz.upstream.targets import RoutePlan, Target, resolve


async def test_a_target_of_a_route_that_was_changed_meanwhile_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(model: str, wire_format: str, plan: RoutePlan | None = None) -> Target:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(120)
        return resolve(model, wire_format, plan)

    monkeypatch.setattr(module, "resolve", slow)
    worker = Worker()
    worker.configuration.routes["m"] = KnownRoute("openai/x", "http://127.0.0.1:1", "")
    first = asyncio.create_task(worker.target_for("m", "openai_chat"))
    await begun.wait()
    worker.configuration.routes["m"] = KnownRoute("openai/x", "http://127.0.0.1:2", "")
    worker.targets.forget()
    may_end.set()
    assert (await first).base_url == "http://127.0.0.1:1"
    assert (await worker.target_for("m", "openai_chat")).base_url == "http://127.0.0.1:2"
