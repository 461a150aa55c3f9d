"""What policies decided, by time and in total: exact, or estimated from a sample if there are very many streams."""

from datetime import timedelta

import pytest

from streamviz.dashboard.policy_facts import done
from streamviz.records.models import Policy
from streamviz.records.queries import policy_samples
from streamviz.records.queries.policy_verdicts import PolicyBucket, verdicts
from tests.records.conftest import Query
from tests.records.history import NOW, day, make_policy, store, story

DAY = timedelta(days=1)


def test_each_policy_has_its_own_verdicts(query: Query) -> None:
    store(story(day(1), denied=make_policy("guard")), story(day(1), number=1, denied=make_policy("other")))
    query("UPDATE records_verdict SET mode = 'shadow', failure = 'time' WHERE stream_id = %s", story(day(1))[0])
    query("UPDATE records_verdict SET at = %s", day(1))
    found = verdicts(day(2), NOW, DAY)
    bucket = day(1) - timedelta(hours=12)
    assert found.by_time == [
        PolicyBucket(bucket, "guard", 1, 0, 1, 1, 12.0, 12.0),
        PolicyBucket(bucket, "other", 1, 1, 0, 0, 12.0, 12.0),
    ]
    assert found.whole == {each.policy: each._replace(at=day(2)) for each in found.by_time}
    assert verdicts(day(9), day(8), DAY) == ([], {})


def test_of_very_many_some_stand_for_all(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    guard, numbers = make_policy("guard"), [0, 1, 63, 64, 255]
    store(*(story(NOW, number=number, denied=guard) for number in numbers))
    for number in numbers:
        query("UPDATE records_verdict SET took_us = %s WHERE stream_id = %s", number, story(NOW, number=number)[0])
    policy = Policy.objects.get(name="guard")
    for most, (judged, took, one_in) in {256: (5, 63, 1), 64: (12, 1, 4), 1: (256, 0, 256)}.items():
        monkeypatch.setattr(policy_samples, "MOST_VERDICTS", most)
        found = verdicts(NOW, NOW + DAY, DAY).whole["guard"]
        assert (found.verdicts, found.interventions, found.took_p50, found.one_in) == (judged, judged, took, one_in)
        told = done(policy, NOW, NOW + DAY)
        assert (told.judged, told.streams, told.denied, told.by_itself, told.one_in) == (*[judged] * 4, one_in)
