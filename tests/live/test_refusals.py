"""Requests that were refused: which are kept, and that servers exchange them."""

import asyncio
from typing import Any

import pytest

from streamviz.live import messages, peer_channel, peer_refusals
from streamviz.live.refusals import MOST, MOST_OF_ONE, Refusal, Refusals, merged
from tests.live.workers import PATIENCE, Worker


def refusal(**changes: Any) -> Refusal:
    """A request without a key."""
    usual: dict[str, Any] = {
        "status": 401,
        "code": "invalid_api_key",
        "message": "No API key was sent.",
        "path": "/v1/messages",
        "user_agent": "claude-cli/2.0",
        "key": "",
        "model": "",
        "is_revoked": False,
        "client": "10.0.0.1",
        "request_id": "r-1",
        "first_at": 1,
        "last_at": 1,
    }
    return Refusal(**usual | changes)


def test_similar_requests_are_counted_and_the_newest_is_kept() -> None:
    refusals = Refusals()
    refusals.note(refusal())
    refusals.note(refusal(path="/v1/responses", last_at=2))
    refusals.note(refusal(request_id="r-2", client="10.0.0.2", first_at=3, last_at=3))
    newest, other = merged(refusals.all())
    assert (newest.count, newest.request_id, newest.client) == (2, "r-2", "10.0.0.2")
    assert (newest.first_at, newest.last_at) == (1, 3)
    assert (other.count, other.path) == (1, "/v1/responses")


@pytest.mark.parametrize("flood", [{}, {"key": "leaked", "is_revoked": True}])
def test_a_flood_from_one_address_pushes_out_only_its_own(flood: dict[str, Any]) -> None:
    refusals = Refusals()
    refusals.note(refusal())
    refusals.note(refusal(key="ci", client="10.0.0.9"))
    for number in range(3 * MOST):
        refusals.note(refusal(path=f"/v1/{number}", client="10.0.0.9", **flood))
    kept = refusals.all()
    assert [each.client for each in kept].count("10.0.0.1") == 1
    assert [each.path for each in kept if each.path != "/v1/messages"] == [
        f"/v1/{number}" for number in range(3 * MOST - MOST_OF_ONE, 3 * MOST)
    ]
    assert [each.key for each in kept if each.has_key] == ["ci"]


def test_a_flood_from_many_addresses_leaves_what_keys_were_refused() -> None:
    refusals = Refusals()
    refusals.note(refusal(key="ci"))
    for number in range(3 * MOST):
        refusals.note(refusal(path=f"/v1/{number}", client=f"10.0.1.{number}"))
    assert len(refusals.all()) == MOST + 1
    assert [each.key for each in refusals.all() if each.has_key] == ["ci"]


async def test_a_page_has_those_of_all_servers(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    here.feed.refusals.note(refusal(last_at=1))
    there.feed.refusals.note(refusal(last_at=2, request_id="r-2", path="/v1/\ud800"))
    there.feed.refusals.note(refusal(last_at=3, request_id="r-3"))
    async with asyncio.timeout(PATIENCE):
        while there.peers.name not in here.peers.counts.names:
            await asyncio.sleep(0)
        found = await here.publisher.refusals()
    assert [(each.request_id, each.count) for each in found] == [("r-3", 2), ("r-2", 1)]


async def test_the_process_with_the_websockets_has_none(linked: tuple[Worker, Worker]) -> None:
    server, _ = linked
    server.feed.refusals.note(refusal())
    assert await server.publisher.refusals() == [refusal()]


async def test_a_server_that_does_not_answer_is_not_waited_for(workers: tuple[Worker, Worker], impatient: None) -> None:
    here, _ = workers
    here.feed.refusals.note(refusal())
    here.peers.counts.take(messages.Counted("streamviz.worker.hangs", 0, 0))
    assert [each.request_id for each in await here.publisher.refusals()] == ["r-1"]


async def test_only_one_page_waits_for_a_server_that_hangs(
    workers: tuple[Worker, Worker], impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = workers
    here.feed.refusals.note(refusal())
    there.feed.refusals.note(refusal(request_id="r-2", path="/v1/responses"))
    here.peers.counts.take(messages.Counted("streamviz.worker.hangs", 0, 0))
    await here.publisher.refusals()
    monkeypatch.setattr(peer_refusals, "FRESH_SECONDS", 0)
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 2 * PATIENCE)
    async with asyncio.timeout(PATIENCE):
        while there.peers.name not in here.peers.counts.names:
            await asyncio.sleep(0)
        assert len(await here.publisher.refusals()) == 2
