"""How long blocks waited for a policy, by who decided: each figure is one that was recorded."""

from collections import defaultdict
from datetime import timedelta
from itertools import chain
from random import Random
from statistics import median, quantiles

import pytest

from streamviz.records.queries import policy_samples
from streamviz.records.queries.policy_holds import Decider, Holds, Waits, holds, holds_of
from tests.records.conftest import Query
from tests.records.history import NOW, make_policy, store, story

HOUR, MICROSECOND = timedelta(hours=1), timedelta(microseconds=1)
FAILURES, PEOPLE = {Decider.NOBODY: "no answer"}, {Decider.PERSON: "alice"}
HELD = "UPDATE records_block SET held_at = %s, released_at = %s, held_by = %s WHERE ordinal = 1 AND stream_id = %s"


def test_holds_are_told_apart_by_who_decided(query: Query) -> None:
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
    # What another policy asked a person is not this one's wait.
    query("UPDATE records_verdict SET by = 'alice' WHERE stream_id = %s", ids[4])
    found = holds_of("guard", NOW, NOW + 2 * HOUR, HOUR)
    assert found.by_time == [
        Waits(NOW, Decider.NOBODY, Holds(1, 3e6, 3e6)),
        Waits(NOW, Decider.PERSON, Holds(1, 2e6, 2e6)),
        Waits(NOW, Decider.POLICY, Holds(2, 3e6, 4.8e6)),
        Waits(NOW + HOUR, Decider.POLICY, Holds(1, 4e6, 4e6)),
    ]
    assert found.by_decider == {
        Decider.POLICY: Holds(3, 4e6, 4.9e6),
        Decider.PERSON: Holds(1, 2e6, 2e6),
        Decider.NOBODY: Holds(1, 3e6, 3e6),
    }
    assert found.whole == Holds(5, 3e6, 4.8e6)
    assert holds_of("other", NOW, NOW + 2 * HOUR, HOUR) == (None, {}, [])


def test_what_never_went_out_was_held_until_its_last_verdict(query: Query) -> None:
    store(story(NOW, denied=make_policy("guard")))
    query(HELD, NOW, None, ["guard"], story(NOW)[0])
    query("UPDATE records_block SET completed_at = %s WHERE ordinal = 1", NOW + timedelta(seconds=1))
    query("UPDATE records_verdict SET at = %s", NOW + timedelta(seconds=9))
    assert holds_of("guard", NOW, NOW + HOUR, HOUR).by_decider == {Decider.POLICY: Holds(1, 9e6, 9e6)}


COPY = """
INSERT INTO records_verdict (stream_id, number, subject, ordinal, policy_version_id, mode, decision, reason, failure,
    at, took_us, evidence, by, client_had)
SELECT stream_id, 1, subject, ordinal, %s, mode, decision, reason, failure, at, %s, evidence, by, client_had
FROM records_verdict
"""


def test_a_policy_is_not_charged_with_what_another_took(query: Query) -> None:
    """Both need the whole block, which took a second; then one decides immediately, and the other asks a person."""
    quick, slow = make_policy("quick"), make_policy("slow")
    store(story(NOW, denied=quick))
    query(HELD, NOW, NOW + timedelta(seconds=46), ["quick", "slow"], story(NOW)[0])
    query("UPDATE records_verdict SET took_us = 1000, at = %s", NOW + timedelta(seconds=1, milliseconds=1))
    query(COPY, slow, 45_000_000)
    query("UPDATE records_verdict SET at = %s WHERE number = 1", NOW + timedelta(seconds=46))
    waited = {"quick": Holds(1, 1_001_000, 1_001_000), "slow": Holds(1, 46_000_000, 46_000_000)}
    assert holds(NOW, NOW + HOUR, HOUR) == {NOW: waited}
    assert {name: holds_of(name, NOW, NOW + HOUR, HOUR).whole for name in waited} == waited
    assert holds_of("slow", NOW + HOUR, NOW + 2 * HOUR, HOUR).whole is None


def test_a_hold_without_a_verdict_lasted_until_its_end(query: Query) -> None:
    make_policy("guard")
    store(story(NOW))
    query(HELD, NOW, NOW + timedelta(seconds=4), ["guard", "other"], story(NOW)[0])
    assert holds(NOW, NOW + HOUR, HOUR) == {NOW: {"guard": Holds(1, 4e6, 4e6), "other": Holds(1, 4e6, 4e6)}}
    assert holds(NOW + HOUR, NOW + 2 * HOUR, HOUR) == {}


def test_a_hold_that_goes_on_is_not_counted(query: Query) -> None:
    store(story(NOW))
    query(HELD, NOW, None, ["guard"], story(NOW)[0])
    query("UPDATE records_block SET completed_at = NULL")
    assert holds(NOW, NOW + HOUR, HOUR) == {}


def test_a_policy_that_holds_alone_is_charged_with_all_of_it_everywhere(query: Query) -> None:
    """Its verdict came after two of three seconds, and the block went out a second later."""
    guard = make_policy("guard")
    store(story(NOW, denied=guard))
    query(HELD, NOW, NOW + timedelta(seconds=3), ["guard"], story(NOW)[0])
    query("UPDATE records_verdict SET took_us = 1000000, at = %s", NOW + timedelta(seconds=2))
    found = holds_of("guard", NOW, NOW + HOUR, HOUR)
    assert holds(NOW, NOW + HOUR, HOUR)[NOW]["guard"] == found.whole == Holds(1, 3e6, 3e6)
    assert found.by_time == [Waits(NOW, Decider.POLICY, Holds(1, 3e6, 3e6))]


ALLOWED = """
INSERT INTO records_verdict (stream_id, number, subject, ordinal, policy_version_id, mode, decision, reason, failure,
    at, took_us, evidence, by, client_had)
VALUES (%s, %s, 'block', 1, %s, 'enforce', 'allow', '', %s, %s, %s, '{}', %s, 0)
"""


def test_all_that_is_said_of_holds_is_what_was_told(query: Query) -> None:
    """Two policies hold blocks together and alone; each expected figure is calculated from the generated times (µs)."""
    versions, chance = {name: make_policy(name) for name in ("first", "second")}, Random(15)
    store(*(story(NOW, number=n) for n in range(60)))
    told: dict[tuple[str, Decider], list[int]] = defaultdict(list)
    for n in range(60):
        by = [["first"], ["second"], ["first", "second"]][n % 3]
        until_whole, took = chance.randrange(10**6), {name: chance.randrange(10**6) for name in by}
        whole, stream_id = until_whole + sum(took.values()) + 500, story(NOW, number=n)[0]
        query(HELD, NOW, NOW + whole * MICROSECOND, by, stream_id)
        at = until_whole
        for number, name in enumerate(by):
            at += took[name]
            decider = chance.choice(list(Decider))
            failure, person = FAILURES.get(decider, ""), PEOPLE.get(decider, "")
            query(ALLOWED, stream_id, number, versions[name], failure, NOW + at * MICROSECOND, took[name], person)
            told[name, decider].append(until_whole + took[name] if len(by) > 1 else whole)
    for name in versions:
        found, parts = holds_of(name, NOW, NOW + HOUR, HOUR), {by: told[name, by] for by in Decider}
        assert found.by_decider == {decider: figures(part) for decider, part in parts.items()}
        assert found.by_time == [Waits(NOW, by, figures(parts[by])) for by in sorted(Decider)]
        assert holds(NOW, NOW + HOUR, HOUR)[NOW][name] == found.whole == figures([*chain(*parts.values())])


def figures(waited: list[int]) -> Holds:
    """The figures that Postgres should return, calculated in Python."""
    cuts = quantiles(waited, n=100, method="inclusive")
    return Holds(len(waited), pytest.approx(median(waited)), pytest.approx(cuts[94]))


def test_of_very_many_some_stand_for_all(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last byte of an id selects the sample; the count includes how many each stands for."""
    make_policy("guard")
    numbers = [0, 1, 63, 64, 255]
    store(*(story(NOW, number=number) for number in numbers))
    for number in numbers:
        query(HELD, NOW, NOW + timedelta(seconds=number + 1), ["guard"], story(NOW, number=number)[0])
    assert holds(NOW, NOW + HOUR, HOUR)[NOW]["guard"] == Holds(5, 64e6, pytest.approx(217.8e6))
    for most, expected in {
        256: Holds(5, 64e6, pytest.approx(217.8e6)),
        64: Holds(12, 2e6, pytest.approx(57.8e6), 4),
        1: Holds(256, 1e6, 1e6, 256),
        0: Holds(256, 1e6, 1e6, 256),
    }.items():
        monkeypatch.setattr(policy_samples, "MOST_HOLDS", most)
        assert holds(NOW, NOW + HOUR, HOUR)[NOW]["guard"] == expected
        assert holds_of("guard", NOW, NOW + HOUR, HOUR).whole == expected
