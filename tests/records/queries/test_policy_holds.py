"""How long blocks waited for a policy, by who decided: each figure is one that was told in the record."""

from datetime import timedelta

from streamviz.records.queries.policy_holds import Decider, Holds, holds, holds_of, waits
from tests.records.conftest import Query
from tests.records.history import NOW, make_policy, store, story

HOUR = timedelta(hours=1)
HELD = "UPDATE records_block SET held_at = %s, released_at = %s, held_by = %s WHERE ordinal = 1 AND stream_id = %s"


def test_they_are_told_apart_by_who_decided(query: Query) -> None:
    policy, other = make_policy("guard"), make_policy("other")
    store(*(story(NOW, number=n, denied=policy) for n in range(4)), story(NOW, number=4, denied=other))
    ids = [story(NOW, number=n)[0] for n in range(5)]
    for n, stream_id in enumerate(ids):
        held_at = NOW + HOUR * (n == 3)
        over = held_at + timedelta(seconds=n + 1)
        query(HELD, held_at, over, ["guard"], stream_id)
        query("UPDATE records_verdict SET at = %s, took_us = 0 WHERE stream_id = %s", over, stream_id)
        query(
            "UPDATE records_verdict SET at = %s WHERE stream_id = %s",
            NOW + HOUR * (n == 3) + timedelta(seconds=n + 1, microseconds=12),
            stream_id,
        )
    query("UPDATE records_verdict SET by = 'alice' WHERE stream_id = %s", ids[1])
    query("UPDATE records_verdict SET failure = 'no answer' WHERE stream_id = %s", ids[2])
    # What another policy was asked is not what this one waited for.
    query("UPDATE records_verdict SET by = 'alice' WHERE stream_id = %s", ids[4])
    found = {(each.at, each.decider): each[2:] for each in waits("guard", NOW, NOW + 2 * HOUR, HOUR)}
    assert found == {
        (NOW, Decider.POLICY): (2, 3e6, 4.8e6),
        (NOW, Decider.PERSON): (1, 2e6, 2e6),
        (NOW, Decider.NOBODY): (1, 3e6, 3e6),
        (NOW + HOUR, Decider.POLICY): (1, 4e6, 4e6),
    }
    assert waits("other", NOW, NOW + 2 * HOUR, HOUR) == []


def test_what_never_went_out_was_held_until_its_last_verdict(query: Query) -> None:
    store(story(NOW, denied=make_policy("guard")))
    query(HELD, NOW, None, ["guard"], story(NOW)[0])
    query("UPDATE records_block SET completed_at = %s WHERE ordinal = 1", NOW + timedelta(seconds=1))
    query("UPDATE records_verdict SET at = %s", NOW + timedelta(seconds=9))
    [found] = waits("guard", NOW, NOW + HOUR, HOUR)
    assert (found.decider, found.p50) == (Decider.POLICY, 9e6)


COPY = """
INSERT INTO records_verdict (stream_id, number, subject, ordinal, policy_version_id, mode, decision, reason, failure,
    at, took_us, evidence, by, client_had)
SELECT stream_id, 1, subject, ordinal, %s, mode, decision, reason, failure, at, %s, evidence, by, client_had
FROM records_verdict
"""


def test_a_policy_is_not_charged_with_what_another_took(query: Query) -> None:
    """Both need the whole block, which took a second; then one decides at once, and the other asks a person."""
    quick, slow = make_policy("quick"), make_policy("slow")
    store(story(NOW, denied=quick))
    query(HELD, NOW, NOW + timedelta(seconds=46), ["quick", "slow"], story(NOW)[0])
    query("UPDATE records_verdict SET took_us = 1000, at = %s", NOW + timedelta(seconds=1, milliseconds=1))
    query(COPY, slow, 45_000_000)
    query("UPDATE records_verdict SET at = %s WHERE number = 1", NOW + timedelta(seconds=46))
    waited = {"quick": Holds(1, 1_001_000, 1_001_000), "slow": Holds(1, 46_000_000, 46_000_000)}
    assert holds(NOW, NOW + HOUR) == waited
    assert {name: holds_of(name, NOW, NOW + HOUR) for name in waited} == waited
    assert holds_of("slow", NOW + HOUR, NOW + 2 * HOUR) is None
    assert {name: waits(name, NOW, NOW + HOUR, HOUR)[0].p95 for name in waited} == {"quick": 1_001_000, "slow": 46e6}


def test_a_hold_without_a_verdict_lasted_until_its_end(query: Query) -> None:
    make_policy("guard")
    store(story(NOW))
    query(HELD, NOW, NOW + timedelta(seconds=4), ["guard", "other"], story(NOW)[0])
    assert holds(NOW, NOW + HOUR) == {"guard": Holds(1, 4e6, 4e6), "other": Holds(1, 4e6, 4e6)}
    assert holds(NOW + HOUR, NOW + 2 * HOUR) == {}


def test_a_hold_that_goes_on_is_not_counted(query: Query) -> None:
    store(story(NOW))
    query(HELD, NOW, None, ["guard"], story(NOW)[0])
    query("UPDATE records_block SET completed_at = NULL")
    assert holds(NOW, NOW + HOUR) == {}
