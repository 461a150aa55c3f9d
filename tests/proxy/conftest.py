"""A worker for runs in one process, and a model behind it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from streamviz.core.errors import UpstreamError
from streamviz.live.feed import Feed
from streamviz.proxy import calls
from streamviz.proxy.observers import Observers
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from tests.proxy.running import Model
from tests.records.support import ROOM


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker()
    made.configuration.keys[digest("sv-a-key")] = KnownKey(1, "a-key", may_choose_executor=True)
    made.configuration.key_ids = frozenset([1])
    made.journal = Journal(tmp_path, ROOM)
    made.observers = Observers(made.journal, Feed())
    yield made
    made.journal.close()


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Model]:
    def answer(*answers: Sequence[Any] | UpstreamError) -> Model:
        model = Model(*answers)
        monkeypatch.setattr(calls, "open_counted", model.open)
        return model

    return answer
