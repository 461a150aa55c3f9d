"""The model `replay/<stream>`: who may request which stream, what is refused, and when chunks are sent."""

import time
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.wire import OPENAI_CHAT
from streamviz.proxy.replays import ReplayedAnswer, replay_target
from streamviz.proxy.requests import ModelRequest
from streamviz.records.configuration import KnownKey
from streamviz.records.models import ApiKey, Stream, UpstreamRun
from streamviz.records.moments import as_microseconds
from streamviz.upstream.targets import Lane, Target
from tests.dashboard.conftest import NOON, recorded
from tests.services import free_port

pytestmark = pytest.mark.django_db

RAWS = [b'data: {"n": %d}\n\n' % n for n in range(5)]
OFFSETS = [0, 20_000, 20_000, 50_000, 60_000]


def keep(stream: Stream) -> None:
    """Store the chunks of RAWS in two runs, the first of them 10 ms after the request."""
    for first, end in ((0, 3), (3, 5)):
        UpstreamRun.objects.create(
            stream=stream,
            first_seq=first,
            first_at=as_microseconds(NOON + timedelta(milliseconds=10)),
            offsets=OFFSETS[first:end],
            lengths=[len(raw) for raw in RAWS[first:end]],
            payload=b"".join(RAWS[first:end]),
        )


@pytest.fixture
def key(db: None) -> KnownKey:
    made, _ = ApiKey.objects.issue("dana")
    return KnownKey(made.pk, made.name)


@pytest.fixture
def stream(key: KnownKey) -> Stream:
    found = recorded(key_id=key.id, chunk_count=5, provider="openai", upstream_model="gpt-4o", requested_model="fast")
    keep(found)
    return found


def target(name: str, key: KnownKey) -> Target:
    return async_to_sync(replay_target)(ModelRequest(b"{}", {}, name, is_streaming=True), OPENAI_CHAT, key)


def refusal(name: str, key: KnownKey) -> RequestError:
    with pytest.raises(RequestError) as caught:
        target(name, key)
    return caught.value


def test_the_target_goes_by_all_names_of_the_recorded_model(stream: Stream, key: KnownKey) -> None:
    name = f"replay/{stream.pk}"
    found = target(name, key)
    assert (found.lane, found.provider, found.model) == (Lane.REPLAYED, "replay", "gpt-4o")
    assert {"gpt-4o", "openai/gpt-4o", "fast", name} <= set(found.names(name))


@pytest.mark.django_db(transaction=True)
def test_all_bytes_of_a_replay_come_and_none_before_its_time(stream: Stream, key: KnownKey) -> None:
    replay = target(f"replay/{stream.pk}?speed=0.5", key).replay
    assert replay is not None

    async def read() -> list[tuple[float, bytes]]:
        began_at = time.monotonic()
        return [(time.monotonic() - began_at, data) async for data in ReplayedAnswer(replay, is_streaming=True)]

    came = async_to_sync(read)()
    assert [data for _, data in came] == [RAWS[0], RAWS[1] + RAWS[2], RAWS[3], RAWS[4]]
    due = [2 * (0.01 + offset / 1_000_000) for offset in sorted(set(OFFSETS))]
    assert all(at >= earliest - 0.001 for (at, _), earliest in zip(came, due, strict=True))


@pytest.mark.django_db(transaction=True)
def test_that_postgres_is_away_is_told_as_that(stream: Stream, key: KnownKey, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = target(f"replay/{stream.pk}", key).replay
    assert replay is not None

    async def read() -> list[bytes]:
        return [data async for data in ReplayedAnswer(replay, is_streaming=True)]

    connection.close()
    monkeypatch.setitem(connection.settings_dict, "PORT", str(free_port()))
    for asked in (async_to_sync(read), partial(target, f"replay/{stream.pk}", key)):
        with pytest.raises(UpstreamError, match="Postgres does not answer") as caught:
            asked()
        assert caught.value.status == 503


@pytest.mark.parametrize("speed", ["2", "inf", "0.1"])
def test_a_replay_takes_a_speed(stream: Stream, key: KnownKey, speed: str) -> None:
    replay = target(f"replay/{stream.pk}?speed={speed}", key).replay
    assert replay is not None
    assert replay.speed == float(speed)


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "1e9", "fast"])
def test_a_speed_that_makes_no_sense_is_refused(stream: Stream, key: KnownKey, speed: str) -> None:
    assert refusal(f"replay/{stream.pk}?speed={speed}", key).code == "invalid_speed"


def test_another_key_does_not_learn_that_the_stream_is_there(stream: Stream) -> None:
    stranger = KnownKey(0, "stranger", ("*",))
    found, missing = (refusal(f"replay/{each}", stranger) for each in (stream.pk, stream.session_id))
    assert found.status == missing.status == 404
    assert found.message.replace(str(stream.pk), "") == missing.message.replace(str(stream.session_id), "")


def test_a_key_whose_models_name_replays_reads_the_streams_of_others(stream: Stream) -> None:
    assert target(f"replay/{stream.pk}", KnownKey(0, "tester", ("replay/*",))).replay


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outcome": ""}, "it still runs"),
        ({"provider": "replay"}, "it is a replay itself"),
        ({"chunk_count": 6}, "only 5 of its 6 chunks are kept"),
        ({"wire_format": "anthropic_messages", "endpoint": "/v1/messages"}, "the format anthropic_messages"),
        ({"is_streaming": False}, "`stream: false`"),
    ],
)
def test_what_cannot_be_replayed_says_why(stream: Stream, key: KnownKey, changes: dict[str, Any], words: str) -> None:
    Stream.objects.update(**changes)
    found = refusal(f"replay/{stream.pk}", key)
    assert found.status == 400
    assert words in found.message


def test_what_a_policy_masked_is_refused(stream: Stream, key: KnownKey) -> None:
    UpstreamRun.objects.filter(first_seq=3).update(payload=None)
    assert "a policy masked them" in refusal(f"replay/{stream.pk}", key).message


def test_a_stream_whose_chunks_are_gone_is_refused(stream: Stream, key: KnownKey) -> None:
    UpstreamRun.objects.all().delete()
    assert "none of its chunks are kept" in refusal(f"replay/{stream.pk}", key).message
