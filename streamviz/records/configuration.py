"""A worker's configuration: keys, routes and policies, in memory, reloaded when they change.

Triggers on their tables, and on those that say who may decide by hand, notify the channel `streamviz_changed`, on which
each worker listens, so a change made anywhere applies to the next request everywhere.
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
from django.contrib.auth.models import User
from django.db import close_old_connections
from psycopg.types.json import Jsonb

from streamviz.core.judgements import NotRun
from streamviz.core.model_names import REPLAY_PREFIX, matches, matching
from streamviz.core.policy import ActivePolicy
from streamviz.executors.executor import Executor, ExecutorError
from streamviz.executors.mcp_tools import McpServer as KnownMcpServer
from streamviz.executors.registry import PASSTHROUGH, Unusable, build
from streamviz.records.models import ApiKey, McpServer, Policy, Route
from streamviz.records.models.access import digest
from streamviz.records.models.policies import words
from streamviz.records.models.workers import LIFE
from streamviz.records.policies_in_force import policies_in_force
from streamviz.records.scoped_policies import ScopedPolicy

log = logging.getLogger(__name__)

CHANNEL = "streamviz_changed"
DECIDE = "records.decide_block"
RETRY_SECONDS = 1.0
TELL_SECONDS = 60.0
# A lost notification goes unnoticed, so everything is read again at this interval.
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
    """A key that opens the proxy. Requests that are passed through and name no provider go to `default_provider`; with
    `may_choose_executor`, a request can choose what answers it. `owner` says whose its sessions are."""

    id: int
    name: str
    models: tuple[str, ...] = ()
    default_provider: str = ""
    may_choose_executor: bool = False
    owner: str = ""

    @property
    def told_apart_by(self) -> str:
        """What tells this key's sessions from those of other keys."""
        return self.owner or self.name

    def may_call(self, asked: str, provider: str, model: str) -> bool:
        """Whether the key opens a model, by the name that the client asked for or as `provider/model`. A key without
        globs opens all models."""
        return not self.models or bool(matching((asked, f"{provider}/{model}"), self.models))

    def may_replay(self, asked: str, made_by: int | None) -> bool:
        """Whether the key opens a recorded stream: one made with it, or any that its globs for replays match."""
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
    """The policies that run on one stream, in order, and those that do not."""

    active: list[ActivePolicy]
    not_run: list[NotRun]


@dataclass(slots=True)
class Configuration:
    """The keys by digest, the names of revoked keys by digest, the routes by name, the policies in order, the version
    of each that is in force, the MCP servers that runs may use, and the names of the users who may decide by hand."""

    keys: dict[str, KnownKey] = field(default_factory=dict)
    revoked: dict[str, str] = field(default_factory=dict)
    key_ids: frozenset[int] = frozenset()
    routes: dict[str, KnownRoute] = field(default_factory=dict)
    policies: tuple[ScopedPolicy, ...] = ()
    versions: dict[str, int] = field(default_factory=dict)
    mcp_servers: tuple[KnownMcpServer, ...] = ()
    deciders: frozenset[str] = frozenset()
    on_reload: list[Callable[[], None]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None
    _failure_told_at: float = -inf

    def key_for(self, secret: str) -> KnownKey | None:
        return self.keys.get(digest(secret))

    def name_for(self, secret: str) -> tuple[str, bool]:
        """The name of a key, and whether it was revoked; empty for any other secret."""
        digested = digest(secret)
        key = self.keys.get(digested)
        return (key.name, False) if key else (self.revoked.get(digested, ""), digested in self.revoked)

    def is_in_use(self, key_id: int) -> bool:
        """Whether a key exists and was not revoked."""
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
        """All policies, whatever their models and keys."""
        return [scoped.active for scoped in self.policies if scoped.active is not None]

    def policies_of(self, key_name: str) -> list[ActivePolicy]:
        """The policies of a key, for any model."""
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
        self.keys, self.revoked, self.routes, self.policies, self.versions, self.mcp_servers, self.deciders = read
        self.key_ids = frozenset(key.id for key in self.keys.values())
        for callback in self.on_reload:
            callback()

    async def _follow(self, conninfo: Callable[[], str]) -> None:
        while True:
            try:
                await self._listen(conninfo())
            except Exception as error:  # whatever it is: unless changes are followed, a revoked key is accepted
                self._note_failure(error)
            await asyncio.sleep(RETRY_SECONDS)

    def _note_failure(self, error: Exception) -> None:
        """Log it at most once a minute, as Postgres may be away for long."""
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
                # stop_after=1 yields every notification that is already there, so a burst costs one reload.
                async for _ in connection.notifies(timeout=RELOAD_SECONDS, stop_after=1):
                    pass


async def _enrol(connection: psycopg.AsyncConnection) -> int:
    """Register as a worker for as long as the connection lasts; workers whose connections have ended are removed."""
    row = await (await connection.execute(_ENROL)).fetchone()
    assert row is not None
    await connection.execute("SELECT pg_advisory_lock(%s, %s)", [LIFE, row[0]])
    await connection.execute(_FORGET, [row[0], LIFE])
    return int(row[0])


Read = tuple[
    dict[str, KnownKey],
    dict[str, str],
    dict[str, KnownRoute],
    tuple[ScopedPolicy, ...],
    dict[str, int],
    tuple[KnownMcpServer, ...],
    frozenset[str],
]


def _known(key: ApiKey) -> KnownKey:
    scope = key.default_provider, key.may_choose_executor
    return KnownKey(key.pk, key.name, words(key.models_scope), *scope, key.owner)


def _read() -> Read:
    close_old_connections()
    # First, so that an acknowledged version is never newer than the one in force.
    versions = dict(Policy.objects.values_list("name", "version"))
    keys = {key.digest: _known(key) for key in ApiKey.objects.filter(revoked_at=None)}
    revoked = dict(ApiKey.objects.exclude(revoked_at=None).values_list("digest", "name"))
    routes = {
        route.name: KnownRoute(route.target, route.base_url, route.credential, _executor(route))
        for route in Route.objects.all()
    }
    deciders = frozenset(User.objects.with_perm(DECIDE).values_list("username", flat=True))
    return keys, revoked, routes, policies_in_force(), versions, tuple(_mcp_servers()), deciders


def _mcp_servers() -> Iterator[KnownMcpServer]:
    for server in McpServer.objects.filter(is_enabled=True):
        try:
            yield server.as_known()
        except ValueError as error:  # it was checked when saved; the other servers still apply
            log.error("MCP server %s: %s", server.name, error)


def _executor(route: Route) -> Executor:
    try:
        return build(route.executor, route.parameters)
    except ExecutorError as error:
        # It was checked when saved, but a newer release may still refuse it. Nothing else may answer in its place.
        log.error("route %s: %s", route.name, error)
        return Unusable(str(error))
