"""Simulated streams are calls to this server, at whichever address it listens."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from pytest_django import Settings

from streamviz.dashboard import demo


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::"])
async def test_a_simulated_stream_reaches_this_server(settings: Settings, host: str) -> None:
    asked: asyncio.Queue[Any] = asyncio.Queue()

    async def answer(request: web.Request) -> web.Response:
        await asked.put(await request.json())
        return web.Response()

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, 0).start()
        settings.HOST, settings.PORT = host, runner.addresses[0][1]
        await demo.send("thinking")
        assert (await asyncio.wait_for(asked.get(), 60))["model"] == "sim/thinking"
    finally:
        await runner.cleanup()
