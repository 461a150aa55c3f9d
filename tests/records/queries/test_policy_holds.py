"""How long blocks waited for a policy, by who decided: each figure is one that was told in the record."""

from datetime import timedelta

from streamviz.records.queries.policy_holds import Decider, waits
from tests.records.conftest import Query
from tests.records.history import NOW, make_policy, store, story

HOUR = timedelta(hours=1)
HELD = "UPDATE records_block SET held_at = %s, released_at = %s, held_by = %s WHERE ordinal = 1 AND stream_id = %s"


def test_they_are_told_apart_by_who_decided(query: Query) -> None:
    policy, other = make_policy("guard"), make_policy("other")
    store(*(story(NOW, number=n, denied=policy) for n in range(4)), story(NOW, number=4, denied=other))
    ids = [story(NOW, number=n)[0] for n in range(5)]
    for n, stream_id in enumerate(ids):
        query(HELD, NOW + HOUR * (n == 3), NOW + HOUR * (n == 3) + timedelta(seconds=n + 1), ["guard"], stream_id)
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
