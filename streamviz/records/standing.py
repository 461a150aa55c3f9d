"""What stands for every request of a worker: keys, routes and policies, in memory, renewed when they change.

Triggers on their tables notify the channel `streamviz_changed`; each worker listens there, so that a change made
anywhere acts on the next request everywhere.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import psycopg
from asgiref.sync import sync_to_async
from django.db import DatabaseError, close_old_connections

from streamviz import policies
from streamviz.core.errors import PolicyParametersError
from streamviz.core.policy import ActivePolicy, Mode
from streamviz.records.models import ApiKey, Policy, PolicyVersion, Route
from streamviz.records.models.access import digest

log = logging.getLogger(__name__)

CHANNEL = "streamviz_changed"
RETRY_SECONDS = 1.0
# A lost notification cannot be noticed, so everything is read again now and then.
RELOAD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that opens the proxy."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class KnownRoute:
    """A route as an operator set it; `credential` names an environment variable."""

    target: str
    base_url: str
    credential: str


@dataclass(frozen=True, slots=True)
class ScopedPolicy:
    """A policy that is not off, and the models and keys it is for: globs, none meaning all."""

    active: ActivePolicy
    models: tuple[str, ...]
    keys: tuple[str, ...]

    def applies(self, model: str, key_name: str) -> bool:
        return _matches(model, self.models) and _matches(key_name, self.keys)


def _matches(value: str, globs: tuple[str, ...]) -> bool:
    return not globs or any(fnmatchcase(value, glob) for glob in globs)


@dataclass(slots=True)
class Standing:
    """The keys by digest, the routes by name, the policies in their order."""

    keys: dict[str, KnownKey] = field(default_factory=dict)
    routes: dict[str, KnownRoute] = field(default_factory=dict)
    policies: tuple[ScopedPolicy, ...] = ()
    on_reload: list[Callable[[], None]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None

    def key_for(self, secret: str) -> KnownKey | None:
        return self.keys.get(digest(secret))

    def policies_for(self, model: str, key_name: str) -> Sequence[ActivePolicy]:
        return [scoped.active for scoped in self.policies if scoped.applies(model, key_name)]

    async def start(self, conninfo: Callable[[], str]) -> None:
        """Read everything, then follow changes until `stop`."""
        await self.reload()
        self._task = asyncio.create_task(self._follow(conninfo), name="standing")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def reload(self) -> None:
        self.keys, self.routes, self.policies = await sync_to_async(_read)()
        for callback in self.on_reload:
            callback()

    async def _follow(self, conninfo: Callable[[], str]) -> None:
        while True:
            try:
                await self._listen(conninfo())
            except (psycopg.Error, DatabaseError, OSError) as error:
                log.warning("changes of keys, routes and policies cannot be followed just now: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self, conninfo: str) -> None:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            while True:
                await self.reload()
                # stop_after=1 gives every notification that is there, so that a burst costs one reading.
                async for _ in connection.notifies(timeout=RELOAD_SECONDS, stop_after=1):
                    pass


def _read() -> tuple[dict[str, KnownKey], dict[str, KnownRoute], tuple[ScopedPolicy, ...]]:
    close_old_connections()
    keys = {key.digest: KnownKey(key.pk, key.name) for key in ApiKey.objects.filter(revoked_at=None)}
    routes = {route.name: KnownRoute(route.target, route.base_url, route.credential) for route in Route.objects.all()}
    running = Policy.objects.exclude(mode=Mode.OFF.value).order_by("order", "name")
    scoped = [entry for policy in running if (entry := _scoped(policy)) is not None]
    return keys, routes, tuple(scoped)


def _scoped(policy: Policy) -> ScopedPolicy | None:
    version = PolicyVersion.objects.get(policy=policy, number=policy.version)
    try:
        rule = policies.build(version.kind, version.parameters)
    except PolicyParametersError as error:
        # It was checked when it was saved; a newer release may still refuse it. Nothing may pass as judged by it.
        log.error("policy %s v%d cannot run: %s", policy.name, version.number, error)
        return None
    active = ActivePolicy(rule, policy.name, version.pk, version.number, Mode(version.mode), version.fail_open)
    return ScopedPolicy(active, _words(version.models_scope), _words(version.keys_scope))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
