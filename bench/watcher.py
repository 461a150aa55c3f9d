"""A browser's part while streamviz is measured: `python -m bench.watcher SIGN_IN_LINK`, the Live page, watched."""

import asyncio
import sys

import aiohttp
from yarl import URL

from bench.gateways import sign_in

WATCHING = "watching"
AGAIN_SECONDS = 0.5


async def watch(link: str) -> None:
    """Sign in, then watch until this process is ended; come back where the server sends us away."""
    jar = aiohttp.CookieJar(unsafe=True)  # which takes cookies of an address, too
    async with aiohttp.ClientSession(cookies=sign_in(link), cookie_jar=jar) as client:
        while True:
            await _take_in(client, URL(link).with_path("/ws/live/"))
            await asyncio.sleep(AGAIN_SECONDS)


async def _take_in(client: aiohttp.ClientSession, url: URL) -> None:
    """What the websocket says, each message confirmed as a browser does."""
    async with client.ws_connect(url, origin=str(url.origin()), max_msg_size=0) as socket:
        async for message in socket:
            print(WATCHING, flush=True)
            number = str(message.data).split(maxsplit=1)[0]
            await socket.send_json({"seen": int(number)})


if __name__ == "__main__":
    asyncio.run(watch(sys.argv[1]))
