"""An id counts the events of each kind that came before."""

import pytest

from streamviz.core.events import BlockSealed
from streamviz.events.numbering import EventId
from streamviz.events.reports import Held, Judged

VERDICT = Judged(0, None, "request", "p", 1, "enforce", "allow")


def test_each_kind_of_event_is_counted_by_itself() -> None:
    told = EventId().and_one(BlockSealed(0)).and_one(VERDICT).and_one(BlockSealed(1)).and_one(Held(0))
    assert str(told) == "2.1.1"
    assert EventId.parse(" ak2.1.1", "ak") == told


def test_whoever_comes_back_lacks_what_was_not_told_whatever_it_stood_beside() -> None:
    had = EventId(2, 0, 1)
    assert had.includes(EventId(2, 5, 5), BlockSealed(0))
    assert not had.includes(EventId(3, 0, 0), BlockSealed(0))
    assert not had.includes(EventId(1, 1, 0), VERDICT)
    assert had.includes(EventId(9, 9, 1), Held(0))


@pytest.mark.parametrize("id", ["", "7", "1.2", "1.2.3.4", "a.b.c", "-1.0.0", "9" * 12 + ".0.0"])
def test_it_rejects_malformed_ids(id: str) -> None:
    assert EventId.parse(f"ak{id}", "ak") is None


@pytest.mark.parametrize("id", ["1.0.0", "jk1.0.0", "au1.0.0", "k1.0.0"])
def test_it_rejects_ids_of_other_events(id: str) -> None:
    assert EventId.parse(id, "ak") is None
