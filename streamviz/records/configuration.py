"""A worker's configuration: keys, routes and policies, in memory, reloaded when they change.

Triggers on their tables notify the channel `streamviz_changed`; each worker listens there, so that a change made
anywhere acts on the next request everywhere.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import NamedTuple

import psycopg
from asgiref.sync import sync_to_async
from django.db import close_old_connections
from psycopg.types.json import Jsonb

from streamviz.core.judgements import NotRun
from streamviz.core.model_names import REPLAY_PREFIX, matching
from streamviz.core.policy import ActivePolicy
from streamviz.executors.executor import Executor, ExecutorError
from streamviz.executors.mcp_tools import McpServer as KnownMcpServer
from streamviz.executors.registry import PASSTHROUGH, Unusable, build
from streamviz.records.models import ApiKey, McpServer, Policy, Route
from streamviz.records.models.access import digest
from streamviz.records.models.policies import words
from streamviz.records.models.workers import LIFE
from streamviz.records.policies_in_force import policies_in_force
from streamviz.records.scoped_policies import ScopedPolicy, matches

log = logging.getLogger(__name__)

CHANNEL = "streamviz_changed"
RETRY_SECONDS = 1.0
TELL_SECONDS = 60.0
# A lost notification cannot be noticed, so everything is read again now and then.
RELOAD_SECONDS = 60.0

_ENROL = "INSERT INTO records_worker (started_at, policies) VALUES (now(), '{}') RETURNING id"
_ACKNOWLEDGE = "UPDATE records_worker SET policies = %s WHERE id = %s"
_FORGET = """
DELETE FROM records_worker WHERE id <> %s AND started_at < now() - interval '1 minute' AND NOT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = records_worker.id AND granted
)
"""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that opens the proxy. What is passed through and names no provider goes to `default_provider`; with
    `may_choose_executor` a request can say what answers it. `owner` is whose its sessions are."""

    id: int
    name: str
    models: tuple[str, ...] = ()
    default_provider: str = ""
    may_choose_executor: bool = False
    owner: str = ""

    @property
    def told_apart_by(self) -> str:
        """What no other key has, for its sessions."""
        return self.owner or self.name

    def may_call(self, asked: str, provider: str, model: str) -> bool:
        """Whether it opens the model that a client asked for and that is called: by the name asked for, or by that of
        the provider with its own for it. None of its globs means all."""
        return not self.models or bool(matching((asked, f"{provider}/{model}"), self.models))

    def may_replay(self, asked: str, made_by: int | None) -> bool:
        """Whether it opens a recorded stream: one that was made with it, or any that its globs for replays mean."""
        globs = [glob for glob in self.models if glob.startswith(REPLAY_PREFIX)]
        return made_by == self.id or bool(matching((asked,), globs))


@dataclass(frozen=True, slots=True)
class KnownRoute:
    """A route as an operator set it; `credential` names an environment variable."""

    target: str
    base_url: str
    credential: str
    executor: Executor = PASSTHROUGH


class Chosen(NamedTuple):
    """The policies of one stream, in their order, and those that do not run on it."""

    active: list[ActivePolicy]
    not_run: list[NotRun]


@dataclass(slots=True)
class Configuration:
    """The keys by digest, the routes by name, the policies in their order, the version of each that is in force, and
    the MCP servers that runs may use."""

    keys: dict[str, KnownKey] = field(default_factory=dict)
    key_ids: frozenset[int] = frozenset()
    routes: dict[str, KnownRoute] = field(default_factory=dict)
    policies: tuple[ScopedPolicy, ...] = ()
    versions: dict[str, int] = field(default_factory=dict)
    mcp_servers: tuple[KnownMcpServer, ...] = ()
    on_reload: list[Callable[[], None]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None
    _failure_told_at: float = -inf

    def key_for(self, secret: str) -> KnownKey | None:
        return self.keys.get(digest(secret))

    def is_in_use(self, key_id: int) -> bool:
        """Whether a key is there and was not revoked."""
        return key_id in self.key_ids

    def key_name(self, key_id: int | None) -> str:
        """The name of a key that is in use; empty for any other."""
        return next((key.name for key in self.keys.values() if key.id == key_id), "")

    def policies_for(self, models: tuple[str, ...], key_name: str) -> Chosen:
        """The policies of a stream; `models` are all names of the model that is called."""
        chosen = Chosen([], [])
        for scoped in self.policies:
            why = scoped.why_not(models, key_name)
            if scoped.active is not None and not why:
                chosen.active.append(scoped.active)
            else:
                chosen.not_run.append(NotRun(scoped.name, scoped.version, scoped.mode, why))
        return chosen

    def policies_of_all(self) -> list[ActivePolicy]:
        """The policies of all models and keys."""
        return [scoped.active for scoped in self.policies if scoped.active is not None]

    def policies_of(self, key_name: str) -> list[ActivePolicy]:
        """The policies of a key, of whatever model."""
        return [each.active for each in self.policies if each.active is not None and matches(key_name, each.keys)]

    async def start(self, conninfo: Callable[[], str]) -> None:
        """Read everything, then follow changes until `stop`."""
        await self.reload()
        self._task = asyncio.create_task(self._follow(conninfo), name="configuration")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def reload(self) -> None:
        read = await sync_to_async(_read)()
        self.keys, self.routes, self.policies, self.versions, self.mcp_servers = read
        self.key_ids = frozenset(key.id for key in self.keys.values())
        for callback in self.on_reload:
            callback()

    async def _follow(self, conninfo: Callable[[], str]) -> None:
        while True:
            try:
                await self._listen(conninfo())
            except Exception as error:  # Whatever it is: a revoked key would be taken for as long as nobody follows.
                self._note_failure(error)
            await asyncio.sleep(RETRY_SECONDS)

    def _note_failure(self, error: Exception) -> None:
        """Said once a minute: Postgres may be away for long."""
        if monotonic() - self._failure_told_at >= TELL_SECONDS:
            self._failure_told_at = monotonic()
            log.warning("cannot follow changes to keys, routes and policies: %s", error)

    async def _listen(self, conninfo: str) -> None:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            number = await _enrol(connection)
            while True:
                await self.reload()
                await connection.execute(_ACKNOWLEDGE, [Jsonb(self.versions), number])
                # stop_after=1 gives every notification that is there, so that a burst costs one reading.
                async for _ in connection.notifies(timeout=RELOAD_SECONDS, stop_after=1):
                    pass


async def _enrol(connection: psycopg.AsyncConnection) -> int:
    """Be among the workers that live for as long as the connection does; those that do not are forgotten."""
    row = await (await connection.execute(_ENROL)).fetchone()
    assert row is not None
    await connection.execute("SELECT pg_advisory_lock(%s, %s)", [LIFE, row[0]])
    await connection.execute(_FORGET, [row[0], LIFE])
    return int(row[0])


Read = tuple[
    dict[str, KnownKey], dict[str, KnownRoute], tuple[ScopedPolicy, ...], dict[str, int], tuple[KnownMcpServer, ...]
]


def _known(key: ApiKey) -> KnownKey:
    scope = key.default_provider, key.may_choose_executor
    return KnownKey(key.pk, key.name, words(key.models_scope), *scope, key.owner)


def _read() -> Read:
    close_old_connections()
    # First, so that what is acknowledged is never newer than what is in force.
    versions = dict(Policy.objects.values_list("name", "version"))
    keys = {key.digest: _known(key) for key in ApiKey.objects.filter(revoked_at=None)}
    routes = {
        route.name: KnownRoute(route.target, route.base_url, route.credential, _executor(route))
        for route in Route.objects.all()
    }
    return keys, routes, policies_in_force(), versions, tuple(_mcp_servers())


def _mcp_servers() -> Iterator[KnownMcpServer]:
    for server in McpServer.objects.filter(is_enabled=True):
        try:
            yield server.as_known()
        except ValueError as error:  # It was checked when it was saved; the others stand all the same.
            log.error("MCP server %s: %s", server.name, error)


def _executor(route: Route) -> Executor:
    try:
        return build(route.executor, route.parameters)
    except ExecutorError as error:
        # It was checked when it was saved; a newer release may still refuse it. Nothing else may answer in its place.
        log.error("route %s: %s", route.name, error)
        return Unusable(str(error))
