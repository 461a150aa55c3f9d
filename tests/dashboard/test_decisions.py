"""What somebody is told who decides, or cancels, a moment too late."""

from typing import Any

import pytest

from streamviz.live.feed import feed
from streamviz.live.publisher import publisher
from tests.dashboard.conftest import Cast
from tests.live.support import Running


class NobodyElse:
    """The other workers, none of which runs the stream: whoever asks them waits for nothing."""

    are_workers = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def decide(self, *_: object, **__: object) -> None:
        self.asked.append("decide")

    async def cancel(self, *_: object) -> None:
        self.asked.append("cancel")


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> NobodyElse:
    found = NobodyElse()
    monkeypatch.setattr(publisher, "peers", found)
    return found


TOLD: list[tuple[str, dict[str, Any]]] = [("decide", {"ordinal": "0", "decision": "allow"}), ("cancel", {})]


@pytest.mark.parametrize(("action", "told"), TOLD)
def test_nobody_else_is_asked_about_a_stream_that_runs_here(
    cast: Cast, others: NobodyElse, action: str, told: dict[str, Any]
) -> None:
    running = Running(feed)
    try:
        assert cast["alice"].post(f"/streams/{running.id}/{action}/", told).status_code == 409
    finally:
        feed.running.pop(running.id)
    assert others.asked == []
    assert cast["alice"].post(f"/streams/{running.id}/{action}/", told).status_code == 504
    assert others.asked == [action]
