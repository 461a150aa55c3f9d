"""What others last reported, and how those that have fallen silent are treated."""

from time import monotonic

from streamviz.live import messages
from streamviz.live.peer_counts import SILENT_SECONDS, PeerCounts
from tests.live.test_fleet import member


def test_a_server_that_fell_silent_is_told_of_and_counts_nothing() -> None:
    counts = PeerCounts()
    for name, process in (("a", "server"), ("b", "screens")):
        counts.take(messages.Counted(name, 2, 3, member(7, process=process, servers=2)))
    assert (counts.asking, counts.dropped, [each.silent for each in counts.members]) == (4, 6, [0.0, 0.0])

    counts.forget(monotonic())
    assert (counts.asking, counts.dropped, counts.names) == (0, 0, [])
    [silent] = counts.members
    assert (silent.process, silent.is_ready, silent.troubles) == ("server", False, ["no answer for 0 s"])
    assert silent.silent > 0

    counts.take(messages.Counted("a", 2, 3, member(7, servers=2)))
    assert [each.silent for each in counts.members] == [0.0]


def test_the_newest_question_of_all_is_known() -> None:
    counts = PeerCounts()
    assert counts.newest_ask == 0
    for name, newest in (("a", 5), ("b", 9)):
        counts.take(messages.Counted(name, 1, 0, newest_ask=newest))
    assert counts.newest_ask == 9


def test_a_silent_server_is_forgotten_in_the_end() -> None:
    counts = PeerCounts()
    counts.take(messages.Counted("a", 0, 0, member(7)))
    counts.forget(monotonic())
    counts.forget(monotonic() + SILENT_SECONDS)
    assert counts.members == []
