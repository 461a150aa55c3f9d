"""How soon processes that died are restarted."""

from itertools import pairwise

from streamviz.ops.keeping import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, WELL_SECONDS, Pauses


def test_the_pause_grows_while_it_ends_soon_after_its_start() -> None:
    pauses = Pauses()
    found = [pauses.after(0.1) for _ in range(10)]
    assert found[0] == FIRST_PAUSE_SECONDS
    assert all(later == min(2 * earlier, LONGEST_PAUSE_SECONDS) for earlier, later in pairwise(found))
    assert found[-1] == LONGEST_PAUSE_SECONDS


def test_after_it_ran_well_the_pause_is_short_again() -> None:
    pauses = Pauses()
    for _ in range(5):
        pauses.after(WELL_SECONDS - 1)
    assert pauses.after(WELL_SECONDS) == FIRST_PAUSE_SECONDS
    assert pauses.after(0) == 2 * FIRST_PAUSE_SECONDS
