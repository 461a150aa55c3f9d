"""A worker: what one server process keeps for all of its streams."""

import asyncio

import aiohttp
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.live.feed import feed
from streamviz.proxy.clock import Clock
from streamviz.proxy.relay import Observers
from streamviz.proxy.sessions import Sessions
from streamviz.records.database import conninfo
from streamviz.records.standing import KnownKey, Standing
from streamviz.records.writer import Writer
from streamviz.upstream.raw import new_client
from streamviz.upstream.targets import SIMULATOR_PREFIX, RoutePlan, Target, resolve, simulator_plan

# A client may ask for any number of model names: what is kept of them must not grow with that.
_KEPT_TARGETS = 1_000


class Worker:
    """Keys, routes, policies, the connections to upstream and to Postgres, and who is told of streams."""

    client: aiohttp.ClientSession

    def __init__(self) -> None:
        self.standing = Standing()
        self.sessions = Sessions()
        self._targets: dict[str, Target] = {}

    async def start(self) -> None:
        """Called once, in the event loop, before the first request."""
        self.client = new_client()
        self.writer = Writer(conninfo)
        self.observers = Observers(self.writer, feed, Clock())
        self.standing.on_reload.append(self._targets.clear)
        await self.standing.start(conninfo)
        self.writer.start()

    async def stop(self) -> None:
        """What was recorded is written before this returns."""
        await self.standing.stop()
        await self.client.close()
        await self.writer.stop()

    def authenticate(self, authorization: str) -> KnownKey:
        """The key of an `Authorization` header. Raises RequestError (401)."""
        scheme, _, secret = authorization.partition(" ")
        key = self.standing.key_for(secret.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            words = "The API key is not known here, or was revoked." if secret else "No API key was sent."
            message = f"{words} Send one as `Authorization: Bearer <key>`."
            raise RequestError(401, message, kind="authentication_error", code="invalid_api_key")
        return key

    async def target_for(self, model: str) -> Target:
        """Where `model` is served. Raises RequestError where that is nowhere."""
        target = self._targets.get(model)
        if target is None:
            # The first look-up of a model reads LiteLLM's tables, which takes long: other clients must not wait for it.
            target = await asyncio.to_thread(resolve, model, self._plan(model))
            if len(self._targets) >= _KEPT_TARGETS:
                self._targets.clear()
            self._targets[model] = target
        return target

    def _plan(self, model: str) -> RoutePlan | None:
        if route := self.standing.routes.get(model):
            return RoutePlan(route.target, route.base_url, route.credential)
        if model.startswith(SIMULATOR_PREFIX):
            return simulator_plan(model, settings.SIMULATOR_URL)
        return None


worker = Worker()
