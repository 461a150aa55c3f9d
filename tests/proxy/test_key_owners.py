"""A key's sessions belong to it alone, whatever name another key has or had."""

from pathlib import Path
from typing import Any, cast

import pytest

from streamviz.live.feed import Feed
from streamviz.proxy import asgi
from streamviz.proxy.observers import Observers
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from streamviz.records.recorder import StreamOpened
from tests.proxy.test_own_failures import KEY, Broken, Kept, answered, asked
from tests.records.support import ROOM


@pytest.mark.parametrize(
    ("keys", "is_one"),
    [
        ((KnownKey(1, "ci", owner="a"), KnownKey(2, "ci", owner="b")), False),
        ((KnownKey(1, "ci", owner="a"), KnownKey(1, "renamed", owner="a")), True),
        ((KnownKey(1, "ci"), KnownKey(1, "ci", owner="ci")), True),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
async def test_a_session_is_of_who_has_the_key(
    keys: tuple[KnownKey, KnownKey], is_one: bool, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, kept = Worker(), Kept()
    worker.configuration.key_ids = frozenset([1, 2])
    worker.configuration.routes["openai"] = KnownRoute("openai/x", "http://127.0.0.1:1", "")
    worker.client = cast(Any, Broken())
    worker.journal = Journal(tmp_path, ROOM)
    worker.observers = Observers(cast(Any, kept), Feed())
    monkeypatch.setattr(asgi, "worker", worker)
    for key in keys:
        worker.configuration.keys[digest(KEY)] = key
        await answered(
            path, {**asked(path), "model": "openai"}, {"x-session-id": "a-run", "x-streamviz-provider": "openai"}
        )
    worker.journal.close()
    sessions = [entry.session_id for entry in kept.entries if isinstance(entry, StreamOpened)]
    assert len(sessions) == 2
    assert (sessions[0] == sessions[1]) is is_one
