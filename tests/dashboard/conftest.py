"""The users: an administrator, alice operates, bob views, charlie has no role, and a stranger is not signed in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.db.models.signals import post_init
from django.test import Client

from streamviz.dashboard.roles import OPERATOR, VIEWER
from streamviz.live.publisher import publisher
from streamviz.records.ids import uuid7
from streamviz.records.models import Block, Policy, Session, Stream, UpstreamRun
from streamviz.records.moments import as_microseconds
from streamviz.records.runs import RUN

NOON = datetime(2026, 9, 21, 12, tzinfo=UTC)

Cast = dict[str, Client]


@pytest.fixture(autouse=True)
def nothing_runs() -> None:
    """Clear earlier tests' streams, which Live shows for half a minute but this test's record does not have."""
    publisher.feed.running.clear()
    publisher.feed.finished.clear()
    publisher.wall.entries.clear()


@pytest.fixture
def cast(db: None) -> Cast:
    """Each user's browser, by name. It skips CSRF checks, which are tested elsewhere with a real browser."""
    User.objects.create_superuser("administrator")
    for name in ("alice", "bob", "charlie"):
        User.objects.create_user(name)
    for name, role in (("alice", OPERATOR), ("bob", VIEWER)):
        User.objects.get(username=name).groups.add(Group.objects.get(name=role))
    found = {"stranger": Client()}
    for user in User.objects.all():
        found[user.get_username()] = Client()
        found[user.get_username()].force_login(user)
    return found


@pytest.fixture
def guard(db: None) -> Policy:
    """A policy that is off."""
    policy = Policy(name="guard", kind="tool_rule", parameters={"names": ["run_shell"]})
    policy.save()
    return policy


def recorded(
    label: str = "nightly-triage", *, minutes: int = 0, session: Session | None = None, **changes: Any
) -> Stream:
    """A recorded stream that ended `minutes` after noon."""
    at = NOON + timedelta(minutes=minutes)
    session = session or Session.objects.create(label=label, started_at=at, last_at=at)
    usual: dict[str, Any] = {
        "id": uuid7(),
        "endpoint": "/v1/chat/completions",
        "wire_format": "openai_chat",
        "is_streaming": True,
        "requested_model": "coder-large",
        "request": b'{"model": "coder-large"}',
        "outcome": "completed",
        "requested_at": at,
        "ended_at": at + timedelta(seconds=2),
    }
    return Stream.objects.create(session=session, **usual | changes)


def hold(stream: Stream, texts: Sequence[str] = (), raws: Sequence[bytes] = (), kind: str = "content") -> None:
    """Give a recorded stream blocks with these texts, and chunks."""
    usual: dict[str, Any] = {"first_seq": 0, "last_seq": 0, "started_at": NOON, "completed_at": NOON, "kind": kind}
    Block.objects.bulk_create(
        Block(stream=stream, ordinal=n, text=text, length=len(text), **usual) for n, text in enumerate(texts)
    )
    for first in range(0, len(raws), RUN):
        run = raws[first : first + RUN]
        UpstreamRun.objects.create(
            stream=stream, first_seq=first, first_at=as_microseconds(NOON), offsets=[0] * len(run),
            lengths=[len(raw) for raw in run], payload=b"".join(run),
        )  # fmt: skip


@contextmanager
def loaded(model: type[Model]) -> Iterator[list[Model]]:
    """Collect the rows of a table that are loaded in the meantime."""
    found: list[Model] = []

    def note(instance: Model, **_: object) -> None:
        found.append(instance)

    post_init.connect(note, sender=model)
    try:
        yield found
    finally:
        post_init.disconnect(note, sender=model)
