"""A worker: what one server process keeps for all of its streams."""

import asyncio
import gc
from collections.abc import Coroutine

import aiohttp
from asgiref.typing import HTTPScope
from django.conf import settings

from streamviz.core.errors import RequestError, Unavailable
from streamviz.live.feed import feed
from streamviz.proxy import http
from streamviz.proxy.clock import Clock
from streamviz.proxy.relay import Observers
from streamviz.proxy.sessions import Sessions
from streamviz.proxy.turns import Turns
from streamviz.records.database import conninfo
from streamviz.records.journal.journal import Journal
from streamviz.records.privacy import Discretion
from streamviz.records.recorder import Recorder
from streamviz.records.rules import Privacy
from streamviz.records.standing import KnownKey, Standing
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
        self.turns = Turns()
        self._targets: dict[tuple[str, str], Target] = {}
        self._calls: set[asyncio.Task[object]] = set()
        self._is_draining = False
        self._behind: set[asyncio.Future[None]] = set()

    async def start(self) -> None:
        """Called once, in the event loop, before the first request."""
        self.client = new_client(settings.UPSTREAM_SILENCE_SECONDS)
        self.journal = Journal(settings.JOURNAL_DIR, settings.JOURNAL_LIMITS)
        self.observers = Observers(self._recorder(), feed, Clock())
        self.standing.on_reload.append(self._targets.clear)
        await self.standing.start(conninfo)
        # LiteLLM's first look-up of a model takes half a second, which no client is to wait for.
        await self.target_for(f"{SIMULATOR_PREFIX}content", "openai_chat")
        # What is loaded by now stays. Left to the collector, LiteLLM's tables alone cost pauses of tens of ms.
        gc.collect()
        gc.freeze()
        # A stream's objects free themselves: looking for circles after each 700 of them cost 5 % and pauses of 2 ms.
        gc.set_threshold(20_000, 20, 20)

    def _recorder(self) -> Recorder:
        privacy: Privacy = settings.PRIVACY
        return self.journal if privacy.keeps_all else Discretion(self.journal, privacy, self.standing.key_name)

    async def drain(self, seconds: float) -> None:
        """Begin no more streams, and wait until those that run have ended, at most so long."""
        self._is_draining = True
        if self._calls:
            await asyncio.wait(self._calls, timeout=seconds)

    async def stop(self) -> None:
        """All that was recorded is in the journal when this returns."""
        for task in self._behind:
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)
        await self.standing.stop()
        await self.client.close()
        self.journal.close()

    def admit(self) -> None:
        """Count the calling task among the streams that run. Raises Unavailable where none may begin now."""
        if self._is_draining:
            raise Unavailable("streamviz is stopping")
        if why := self.journal.why_refused():
            raise Unavailable(f"streamviz cannot record any more: {why}")
        if (task := asyncio.current_task()) is not None:
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)

    def run_behind(self, work: Coroutine[None, None, None]) -> None:
        """Run what no client waits for. The event loop itself keeps no task alive."""
        task = asyncio.ensure_future(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def authenticate(self, scope: HTTPScope) -> KnownKey:
        """The key that a request was sent with. Raises RequestError (401).

        Where clients send their provider's credential in its usual place, our own key comes in `x-streamviz-key`.
        """
        own = http.header(scope, b"x-streamviz-key").strip()
        secrets = [own] if own else [] if settings.CLIENT_CREDENTIALS else http.credentials(scope)
        key = next((key for secret in secrets if (key := self.standing.key_for(secret))), None)
        if key is None:
            words = "The API key is not known here, or was revoked." if secrets else "No API key was sent."
            place = "x-streamviz-key: <key>" if settings.CLIENT_CREDENTIALS else "Authorization: Bearer <key>"
            message = f"{words} Send one as `{place}`."
            raise RequestError(401, message, kind="authentication_error", code="invalid_api_key")
        return key

    async def target_for(self, model: str, wire_format: str) -> Target:
        """Where `model` is served to clients of a wire format. Raises RequestError where that is nowhere."""
        target = self._targets.get((model, wire_format))
        if target is None:
            # The first look-up of a model reads LiteLLM's tables, which takes long: other clients must not wait for it.
            target = await asyncio.to_thread(resolve, model, wire_format, self._plan(model, wire_format))
            if len(self._targets) >= _KEPT_TARGETS:
                self._targets.clear()
            self._targets[model, wire_format] = target
        return target

    def _plan(self, model: str, wire_format: str) -> RoutePlan | None:
        if route := self.standing.routes.get(model):
            return RoutePlan(route.target, route.base_url, route.credential)
        if model.startswith(SIMULATOR_PREFIX):
            return simulator_plan(model, wire_format, settings.SIMULATOR_URL)
        return None


worker = Worker()
