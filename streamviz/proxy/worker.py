"""A worker: what one server process keeps for all of its streams."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING
from uuid import UUID

import aiohttp
from asgiref.typing import HTTPScope
from django.conf import settings

from streamviz import huge_pages
from streamviz.core.errors import RequestError, Unavailable
from streamviz.descriptors import Descriptors
from streamviz.evaluation.pool import Pool
from streamviz.executors.mcp_tools import load as load_mcp
from streamviz.live.approvals import approvals
from streamviz.live.feed import feed
from streamviz.live.publisher import publisher
from streamviz.proxy import http
from streamviz.proxy.afterwards import Afterwards
from streamviz.proxy.denied_calls import DeniedCalls
from streamviz.proxy.kept_targets import KeptTargets
from streamviz.proxy.observers import Observers
from streamviz.proxy.recorded_denials import RecordedDenials
from streamviz.proxy.running_calls import RunningCalls
from streamviz.proxy.sessions import Sessions
from streamviz.proxy.slots import Slots
from streamviz.records.backlog import Backlog, Watch, backlog
from streamviz.records.configuration import Configuration, KnownKey
from streamviz.records.database import conninfo
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import PREFIX
from streamviz.records.moves import Move, follow
from streamviz.records.privacy import PrivateRecorder
from streamviz.records.recorder import Recorder
from streamviz.records.rules import Privacy
from streamviz.records.tallies import Tallies
from streamviz.upstream.loading import is_needed, load
from streamviz.upstream.raw import new_client
from streamviz.upstream.targets import Target
from streamviz.upstream.usage_requests import UsageRequests

if TYPE_CHECKING:
    from streamviz.proxy.telemetry.exporting import Telemetry

# How many pieces of what arrives faster than any model sends are taken per round of the event loop.
FLOODS_A_ROUND = 3

_TEND_SECONDS = 1.0
_LOOK_SECONDS = 1.0


class Worker:
    """Keys, routes, policies, the connections to upstream and to Postgres, and the observers of streams."""

    client: aiohttp.ClientSession

    def __init__(self) -> None:
        self.configuration = Configuration()
        self.sessions = Sessions(settings.SECRET_KEY)
        self.denied_calls = DeniedCalls()
        self.slots = Slots()
        self.afterwards = Afterwards(self.slots)
        self.tallies = Tallies(conninfo)
        self.floods = Slots(FLOODS_A_ROUND)
        self._descriptors = Descriptors()
        self.pool = Pool(settings.POLICY_PROCESSES, settings.POLICY_MEMORY_MB)
        self.targets = KeptTargets(self.configuration)
        self.usage_requests = UsageRequests()
        self.running = RunningCalls(self.configuration)
        self.backlog: Backlog | None = None
        self._behind: set[asyncio.Future[None]] = set()

    async def start(self) -> None:
        """Called once, in the event loop, before the first request."""
        self.client = new_client(settings.UPSTREAM_SILENCE_SECONDS)
        self.journal = Journal(settings.JOURNAL_DIR, settings.JOURNAL_LIMITS)
        self.telemetry = _telemetry()
        self.observers = Observers(self._recorder(), feed, lambda: self.configuration.routes, self.telemetry)
        self.run_behind(self._tend_journal())
        self.run_behind(self._watch())
        self.run_behind(follow(conninfo, self._moved, self._deleted))
        self.configuration.on_reload += [self.targets.forget, self.running.end_revoked, self._keep_approvals]
        await self.configuration.start(conninfo)
        self.denied_calls.look_up = RecordedDenials(self.sessions).find
        self.tallies.worker = UUID(self.journal.path.name)
        await self.tallies.start()
        for load_now in self._needed():
            load_now()  # now, so that no client has to wait for it
        self.configuration.on_reload.append(self._load_ahead)
        self.pool.warm()
        # Everything loaded so far stays.
        gc.collect()
        gc.freeze()
        _move_to_huge_pages()
        # Reference counting frees a stream's objects: looking for cycles after every 700 of them cost 5 % and pauses of
        # 2 ms.
        gc.set_threshold(20_000, 20, 20)

    def _recorder(self) -> Recorder:
        privacy: Privacy = settings.PRIVACY
        recorder = self.telemetry.recorder(self.journal) if self.telemetry else self.journal
        return recorder if privacy.keeps_all else PrivateRecorder(recorder, privacy, self.configuration.key_name)

    async def stop(self) -> None:
        """Stop the worker. All that was recorded is in the journal when this returns."""
        for task in self._behind:
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)
        self.afterwards.finish()
        self.pool.close()
        await self.tallies.stop()
        await self.configuration.stop()
        await self.client.close()
        if self.telemetry:
            await asyncio.to_thread(self.telemetry.stop)
        self.journal.close()

    def why_refused(self) -> str:
        """Why no new requests should be sent to this worker, as a clause; empty if they may be."""
        return "streamviz is stopping" if self.running.is_draining else self._why_unrecorded() or self._why_few()

    def admit(self) -> None:
        """Count the calling task among the running streams. Raises Unavailable if no stream may begin now."""
        self.require_record()
        if why := self._why_few():
            raise Unavailable(why)
        self.running.begin()

    def _moved(self, move: Move) -> None:
        """Streams shown here turned out to belong to another session."""
        for stream_id in self.sessions.move(move.stream, move.old, move.new):
            if (stream := feed.get(stream_id)) is not None:
                stream.session_id, stream.session_name = move.new, move.name
                stream.session_label = move.label or stream.session_label
                feed.changed(stream)

    def _deleted(self, session_id: UUID) -> None:
        self.sessions.forget_label(session_id)
        publisher.forget_session(session_id)

    def require_record(self) -> None:
        """Raises Unavailable if a stream could not be recorded, or would be ended at once."""
        if why := "streamviz is stopping" if self.running.is_over else self._why_unrecorded():
            raise Unavailable(why)

    async def _tend_journal(self) -> None:
        """Even if no entries arrive: write ends of streams that found no room in the journal once there is room, and
        leave old segments to the writer."""
        while True:
            await asyncio.sleep(_TEND_SECONDS)
            self.journal.try_again()
            self.journal.leave_old()

    async def _watch(self) -> None:
        """Count descriptors, and log it when the journal is not being moved: a writer that hangs cannot say so
        itself."""
        watch = Watch()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.backlog = await asyncio.to_thread(self._look)
            watch.look(self.backlog)

    def _look(self) -> Backlog:
        self._descriptors.count()
        return backlog(settings.JOURNAL_DIR, settings.JOURNAL_LIMITS)

    def _why_unrecorded(self) -> str:
        why = self.journal.why_refused()
        return f"streamviz cannot record new streams: {why}" if why else ""

    def _why_few(self) -> str:
        why = self._descriptors.why_few()
        return f"streamviz accepts no new streams: {why}" if why else ""

    def run_behind(self, work: Coroutine[None, None, None]) -> None:
        """Run work that no client waits for. The event loop itself does not keep tasks alive."""
        task = asyncio.ensure_future(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def authenticate(self, scope: HTTPScope) -> KnownKey:
        """The key that a request was sent with. Raises RequestError (401).

        If clients send their provider's credential in its usual place, our own key comes in `x-streamviz-key`.
        """
        if (key := self.key_of(scope)) is None:
            place = "x-streamviz-key: <key>" if settings.CLIENT_CREDENTIALS else "Authorization: Bearer <key>"
            message = f"{_wrong_with(_secrets(scope), scope)} Send one as `{place}`; the Keys page makes them."
            raise RequestError(401, message, kind="authentication_error", code="invalid_api_key")
        return key

    def key_of(self, scope: HTTPScope) -> KnownKey | None:
        """The valid key that a request was sent with; None if it has none."""
        return next((key for secret in _secrets(scope) if (key := self.configuration.key_for(secret))), None)

    def key_name_of(self, scope: HTTPScope) -> tuple[str, bool]:
        """The name of the key that a request was sent with, a valid one if it has one, and whether that was revoked;
        empty if it has neither."""
        found = [named for secret in _secrets(scope) if (named := self.configuration.name_for(secret))[0]]
        return min(found, key=lambda named: named[1], default=("", False))

    def _keep_approvals(self) -> None:
        approvals.keep(self.configuration.deciders)

    async def target_for(self, model: str, wire_format: str) -> Target:
        """Where `model` is served to clients of a wire format. Raises RequestError if it is not served."""
        return await self.targets.find(model, wire_format)

    def _needed(self) -> list[Callable[[], None]]:
        """The functions that load the packages that calls may need."""
        has_routes = bool(self.configuration.routes)
        is_litellm = is_needed(has_routes=has_routes, brings_credentials=settings.CLIENT_CREDENTIALS)
        return [*([load] if is_litellm else ()), *([load_mcp] if self.configuration.mcp_servers else ())]

    def _load_ahead(self) -> None:
        """If the first route or MCP server has just been set, load its package, so that its first call does not wait
        for that."""
        if needed := self._needed():
            self.run_behind(asyncio.to_thread(_load_late, needed))


def _secrets(scope: HTTPScope) -> list[str]:
    """What a request has where a key belongs."""
    own = http.header(scope, b"x-streamviz-key").strip()
    sent = [] if own or settings.CLIENT_CREDENTIALS else http.credentials(scope)
    return [own] if own else [credential.secret for credential in sent]


def _wrong_with(secrets: list[str], scope: HTTPScope) -> str:
    if not secrets:
        is_bare = not settings.CLIENT_CREDENTIALS and http.header(scope, b"authorization").strip().startswith(PREFIX)
        return "The API key in `Authorization` has no `Bearer` before it." if is_bare else "No API key was sent."
    if not any(secret.startswith(PREFIX) for secret in secrets):
        return f"This is not a streamviz API key; those begin with {PREFIX}."
    return "The API key is unknown or was revoked."


def _telemetry() -> "Telemetry | None":
    if not settings.OTLP_ENDPOINT:
        return None
    from streamviz.proxy.telemetry.exporting import Telemetry  # its packages are an extra

    return Telemetry(has_contents=settings.CAPTURE_CONTENT)


def _move_to_huge_pages() -> None:
    if settings.HUGE_PAGES:
        huge_pages.collapse()


def _load_late(needed: list[Callable[[], None]]) -> None:
    for load_one in needed:
        load_one()
    _move_to_huge_pages()


worker = Worker()
