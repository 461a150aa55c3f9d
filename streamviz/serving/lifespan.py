"""ASGI's lifespan protocol, which tells an application that its server starts and stops."""

import asyncio

from streamviz.asgi_types import Application, Message
from streamviz.faults import Fault


class Lifespan:
    """The server's side of the protocol, for one application."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._replies: asyncio.Queue[Message] = asyncio.Queue()

    async def startup(self) -> None:
        """Return once the application is ready for requests. Raises Fault if it says that it cannot be, and whatever
        the application raises."""
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}}
        self._run = asyncio.ensure_future(self._application(scope, self._inbox.get, self._replies.put))
        reply = await self._ask("lifespan.startup")
        if reply["type"] == "lifespan.startup.failed":
            raise Fault(reply.get("message") or "The application could not start.")

    async def shutdown(self) -> None:
        """Return once the application has finished its work."""
        if not self._run.done():
            await self._ask("lifespan.shutdown")

    async def _ask(self, kind: str) -> Message:
        """The application's reply. Raises what the application raises instead of replying."""
        await self._inbox.put({"type": kind})
        reply = asyncio.ensure_future(self._replies.get())
        await asyncio.wait({reply, self._run}, return_when=asyncio.FIRST_COMPLETED)
        if reply.done():
            return reply.result()
        reply.cancel()
        await self._run
        raise Fault("The application ended without an answer to its server.")
