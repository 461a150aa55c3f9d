"""Plays a browser while streamviz is measured: `python -m bench.watcher SIGN_IN_LINK` watches the Live page."""

import asyncio
import sys

import aiohttp
from yarl import URL

from bench.gateways import sign_in

WATCHING = "watching"
AGAIN_SECONDS = 0.5


async def watch(link: str) -> None:
    """Sign in, then watch until this process is killed; reconnect if the server closes the connection."""
    jar = aiohttp.CookieJar(unsafe=True)  # accepts cookies for an IP address, too
    async with aiohttp.ClientSession(cookies=sign_in(link), cookie_jar=jar) as client:
        while True:
            await _take_in(client, URL(link).with_path("/ws/live/"))
            await asyncio.sleep(AGAIN_SECONDS)


async def _take_in(client: aiohttp.ClientSession, url: URL) -> None:
    """Read the websocket's messages and confirm each, as a browser does."""
    async with client.ws_connect(url, origin=str(url.origin()), max_msg_size=0) as socket:
        async for message in socket:
            print(WATCHING, flush=True)
            number = str(message.data).split(maxsplit=1)[0]
            await socket.send_json({"seen": int(number)})


if __name__ == "__main__":
    asyncio.run(watch(sys.argv[1]))
