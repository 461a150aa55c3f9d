"""What people are told if they decide or cancel a moment too late."""

import asyncio
import json
from typing import Any

import pytest

from streamviz.core.judgements import PersonDecided
from streamviz.core.verdicts import Decision
from streamviz.live import rendering
from streamviz.live.feed import feed
from streamviz.live.publisher import publisher
from tests.dashboard.conftest import Cast
from tests.live.support import Running, asking_twice, parse, view_of_running


class NobodyElse:
    """The other workers, none of which runs the stream: asking them would be a wait for nothing."""

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


TOLD: list[tuple[str, dict[str, Any]]] = [("decide", {"asks": "1", "decision": "allow"}), ("cancel", {})]


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


@pytest.mark.parametrize(("action", "told"), TOLD)
def test_nobody_else_is_asked_about_a_stream_that_has_just_ended_here(
    cast: Cast, others: NobodyElse, action: str, told: dict[str, Any]
) -> None:
    running = asyncio.run(Running(feed).end())
    assert cast["alice"].post(f"/streams/{running.id}/{action}/", told).status_code == 409
    assert others.asked == []


def asked_twice() -> Running:
    """A stream with two questions about one call, which a person answers in turn."""
    running = asyncio.run(asking_twice(feed))

    def decide(asks: int, decision: Decision, by: str) -> bool:
        is_open = asks in running.stream.context.questions
        running.answer(asks, PersonDecided(decision, by))
        return is_open

    running.stream.decide = decide
    return running


def what_allow_posts(running: Running) -> Any:
    """The form values of the Allow button on the stream's page."""
    page = parse(rendering.holds(view_of_running(running.stream), running.now))
    button = page.find("h0-allow")
    assert button is not None
    return json.loads(button.attributes["hx-vals"])


def test_a_page_that_shows_a_question_answered_since_allows_nothing_else(cast: Cast) -> None:
    running = asked_twice()
    try:
        seen, url = what_allow_posts(running), f"/streams/{running.id}/decide/"
        assert cast["alice"].post(url, seen).status_code == 200
        late = cast["administrator"].post(url, seen)
        assert (late.status_code, late.content) == (409, b"Already decided.")
        assert [each.by for each in running.stream.context.judgements] == ["alice"]
        assert cast["administrator"].post(url, what_allow_posts(running)).status_code == 200
        assert [each.by for each in running.stream.context.judgements] == ["alice", "administrator"]
    finally:
        feed.running.pop(running.id)
