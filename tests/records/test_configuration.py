"""The configuration in memory, and that it follows the database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeVar

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, Permission, User
from django.db import InterfaceError, connections
from django.utils import timezone
from psycopg.conninfo import make_conninfo

from streamviz.core.judgements import ChainContext
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.verdicts import Mode
from streamviz.records.configuration import CHANNEL, Configuration
from streamviz.records.database import conninfo
from streamviz.records.models import ApiKey, Policy, Route
from tests.records.conftest import Query
from tests.records.support import Heard

FOLLOWING = "configuration, under test"


class Follower:
    """A Configuration that follows the database, and signals each time it has read it."""

    def __init__(self) -> None:
        self.configuration = Configuration()
        self.reads = 0
        self._news = asyncio.Event()
        self.configuration.on_reload.append(self._note)

    def _note(self) -> None:
        self.reads += 1
        self._news.set()

    async def until(self, is_so: Callable[[Configuration], bool]) -> None:
        """Wait until this holds after some reading."""
        async with asyncio.timeout(60):
            while not is_so(self.configuration):
                self._news.clear()
                await self._news.wait()

    async def start(self) -> None:
        """Start it, and wait until it listens: at that point it reads everything once more."""
        await self.configuration.start(lambda: make_conninfo(conninfo(), application_name=FOLLOWING))
        await self.until(lambda _: self.reads >= 2)


@pytest.fixture
async def follower(transactional_db: None) -> AsyncIterator[Follower]:
    """A follower that has read an empty database."""
    follower = Follower()
    await follower.start()
    yield follower
    await follower.configuration.stop()
    await sync_to_async(connections.close_all)()


T = TypeVar("T")


async def change(make: Callable[[], T]) -> T:
    """Make a change as another process would: on a connection that is closed afterwards."""

    def run() -> T:
        try:
            return make()
        finally:
            connections.close_all()

    return await asyncio.to_thread(run)


def save_policy(name: str = "guard", **fields: Any) -> Policy:
    policy = Policy.objects.filter(name=name).first() or Policy(name=name, kind="tool_rule")
    for field, value in fields.items():
        setattr(policy, field, value)
    policy.save()
    return policy


async def test_a_key_opens_from_when_it_is_made_until_it_is_revoked(follower: Follower) -> None:
    key, secret = await change(lambda: ApiKey.objects.issue("ci"))
    await follower.until(lambda configuration: configuration.key_for(secret) is not None)
    known = follower.configuration.key_for(secret)
    assert known is not None
    assert (known.id, known.name, known.told_apart_by) == (key.pk, "ci", key.owner)
    assert follower.configuration.key_for(secret + "x") is None
    assert follower.configuration.key_for("") is None
    assert follower.configuration.name_for(secret) == ("ci", False)
    await change(key.revoke)
    await follower.until(lambda configuration: configuration.key_for(secret) is None)
    assert follower.configuration.name_for(secret) == ("ci", True)


async def test_routes_are_followed(follower: Follower) -> None:
    route = await change(
        lambda: Route.objects.create(name="fast", target="openai/x", base_url="http://x", credential="K")
    )
    await follower.until(lambda configuration: "fast" in configuration.routes)
    found = follower.configuration.routes["fast"]
    assert (found.target, found.base_url, found.credential) == ("openai/x", "http://x", "K")
    await change(route.delete)
    await follower.until(lambda configuration: not configuration.routes)


async def test_a_policys_mode_is_followed_and_the_version_with_it(follower: Follower) -> None:
    policy = await change(lambda: save_policy(mode="shadow"))
    await follower.until(lambda configuration: bool(configuration.policies))
    [shadow] = follower.configuration.policies_for(("any",), "any").active
    await change(lambda: save_policy(mode="enforce", fail_open=True))
    await follower.until(lambda configuration: configuration.policies[0].mode is Mode.ENFORCE)
    [enforce] = follower.configuration.policies_for(("any",), "any").active
    assert (shadow.mode, shadow.version, shadow.fail_open) == (
        Mode.SHADOW,
        1,
        False,
    )  # a running stream keeps its policies
    assert (enforce.name, enforce.version, enforce.fail_open) == ("guard", 2, True)
    ids = await change(lambda: [version.pk for version in policy.versions.all()])
    assert [enforce.version_id, shadow.version_id] == ids
    await change(lambda: save_policy(mode="off"))
    await follower.until(lambda configuration: not configuration.policies)


async def test_it_follows_who_may_decide_by_hand(follower: Follower) -> None:
    def may(name: str) -> Callable[[Configuration], bool]:
        return lambda configuration: name in configuration.deciders

    def may_not(name: str) -> Callable[[Configuration], bool]:
        return lambda configuration: name not in configuration.deciders

    operators = await change(lambda: Group.objects.get(name="operator"))
    alice = await change(lambda: User.objects.create_user("alice"))
    await change(lambda: operators.user_set.add(alice))
    await follower.until(may("alice"))
    await change(lambda: User.objects.filter(username="alice").update(is_active=False))
    await follower.until(may_not("alice"))
    await change(lambda: User.objects.filter(username="alice").update(is_active=True, username="carol"))
    await follower.until(may("carol"))
    await change(lambda: operators.permissions.clear())
    await follower.until(may_not("carol"))
    await change(lambda: alice.user_permissions.add(Permission.objects.get(codename="decide_block")))
    await follower.until(may("carol"))
    await change(alice.delete)
    await follower.until(may_not("carol"))


async def test_policies_come_in_their_order(follower: Follower) -> None:
    for name, order in (("c", 2), ("b", 2), ("a", 3), ("d", 1)):
        await change(partial(save_policy, name, order=order, mode="enforce"))
    await follower.until(lambda configuration: len(configuration.policies) == 4)
    assert [active.name for active in follower.configuration.policies_for(("m",), "k").active] == ["d", "b", "c", "a"]


@pytest.mark.parametrize(
    ("models", "keys", "applies"),
    [
        ("", "", True),
        ("sim/*", "", True),
        ("openai/*, sim/cont*", "", True),
        ("openai/*", "", False),
        ("sim/conten?", "", True),
        ("SIM/*", "", True),
        (" , ", "", True),
        ("", "ci", True),
        ("", "ci-*", False),
        ("", "c?", True),
        ("sim/*", "prod", False),
    ],
)
async def test_a_scope_says_for_which_models_and_keys(
    follower: Follower, models: str, keys: str, applies: bool
) -> None:
    await change(lambda: save_policy(mode="enforce", models_scope=models, keys_scope=keys))
    await follower.until(lambda configuration: bool(configuration.policies))
    chosen = follower.configuration.policies_for(("sim/content",), "ci")
    assert (len(chosen.active), len(chosen.not_run)) == ((1, 0) if applies else (0, 1))
    assert all("outside its scope" in each.why for each in chosen.not_run)


async def test_a_shadow_that_cannot_be_built_is_not_run_and_stops_no_other(
    follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    await change(lambda: save_policy("broken", kind="of a newer release", mode="shadow"))
    await change(lambda: save_policy("guard", mode="enforce"))
    await follower.until(lambda configuration: len(configuration.policies) == 2)
    chosen = follower.configuration.policies_for(("m",), "k")
    assert [active.name for active in chosen.active] == ["guard"]
    [not_run] = chosen.not_run
    assert (not_run.policy, not_run.version, not_run.mode) == ("broken", 1, Mode.SHADOW)
    assert not_run.why.startswith("it cannot run: ")
    assert "policy broken v1: it cannot run" in caplog.text


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "of a newer release"},
        {"kind": "python", "parameters": {"path": "nowhere.at.All"}},
        {"kind": "text_rule", "parameters": {"no": "such parameter"}},
        {"kinds_scope": "of_a_newer_release"},
    ],
    ids=lambda broken: next(iter(broken)),
)
@pytest.mark.parametrize("fail_open", [False, True])
async def test_an_enforced_policy_that_cannot_be_built_fails_on_each_request(
    follower: Follower, broken: dict[str, Any], fail_open: bool
) -> None:
    await change(lambda: save_policy("broken", mode="enforce", fail_open=fail_open, **broken))
    await follower.until(lambda configuration: len(configuration.policies) == 1)
    chosen = follower.configuration.policies_for(("m",), "k")
    context = ChainContext("test", lambda: 0)
    judging = RequestJudging(chosen.active, ModelCall("openai_chat", {"model": "m"}), context)
    assert chosen.not_run == []
    assert (judging.denied is None) == fail_open
    [judgement] = context.judgements
    assert "it cannot run" in judgement.failure


async def test_it_goes_on_following_when_its_connection_is_killed(follower: Follower, query: Query) -> None:
    ended = query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", FOLLOWING)
    assert ended == [(True,)]
    _, secret = await change(lambda: ApiKey.objects.issue("made while nobody listened"))
    await follower.until(lambda configuration: configuration.key_for(secret) is not None)
    _, later = await change(lambda: ApiKey.objects.issue("made afterwards"))
    await follower.until(lambda configuration: configuration.key_for(later) is not None)


@pytest.mark.parametrize("error", [OSError, InterfaceError, LookupError])
async def test_a_configuration_that_cannot_follow_says_so_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    monkeypatch.setattr("streamviz.records.configuration.RETRY_SECONDS", 0)
    tries = 0

    async def nobody_there() -> None:
        """Wait for ten attempts to connect."""
        async with asyncio.timeout(60):
            while tries < 10:
                await asyncio.sleep(0)

    def conninfo() -> str:
        nonlocal tries
        tries += 1
        raise error("nobody is there")

    following = asyncio.ensure_future(Configuration()._follow(conninfo))
    await nobody_there()
    following.cancel()
    assert [record.getMessage() for record in caplog.records] == [
        "cannot follow changes to keys, routes and policies: nobody is there"
    ]


async def test_it_goes_on_following_when_a_reading_fails(follower: Follower, query: Query) -> None:
    query("ALTER TABLE records_route RENAME TO hidden")
    with Heard("streamviz.records.configuration", "cannot follow") as heard:
        _, secret = await change(lambda: ApiKey.objects.issue("ci"))
        async with asyncio.timeout(60):
            await heard.event.wait()
    query("ALTER TABLE hidden RENAME TO records_route")
    await follower.until(lambda configuration: configuration.key_for(secret) is not None)


CHANGES: dict[str, Callable[[], object]] = {
    "a key is made": lambda: ApiKey.objects.issue("ci"),
    "a key is revoked behind the model": lambda: ApiKey.objects.update(revoked_at=timezone.now()),
    "a key is deleted": lambda: ApiKey.objects.all().delete(),
    "a route is made": lambda: Route.objects.create(name="fast", target="openai/x"),
    "a route is changed": lambda: Route.objects.update(target="openai/y"),
    "a route is deleted": lambda: Route.objects.all().delete(),
    "a policy is made": lambda: save_policy("another"),
    "a policy is changed": lambda: save_policy(order=7),
    "a policy is deleted": lambda: Policy.objects.all().delete(),
}


@pytest.mark.parametrize("make", CHANGES.values(), ids=CHANGES)
def test_the_configuration_is_notified_of_changes(transactional_db: None, make: Callable[[], object]) -> None:
    ApiKey.objects.issue("old")
    Route.objects.create(name="old", target="openai/old")
    save_policy()
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        make()
        assert list(connection.notifies(timeout=60, stop_after=1))
