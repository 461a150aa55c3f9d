"""The newest streams of the record, as rows of a Live page that nobody watched while they ran."""

import pytest
from asgiref.sync import async_to_sync

from streamviz.live.presentation.rows import row_of
from streamviz.live.presentation.stream_views import load_recent
from streamviz.records.moments import as_microseconds
from tests.dashboard.conftest import NOON, Cast, hold, recorded


def test_a_row_of_the_record_has_its_sparkline(cast: Cast) -> None:
    hold(recorded("one"), raws=[b"data: a"] * 7)
    recorded("two", minutes=1)
    counts = {view.label: sum(row_of(view, as_microseconds(NOON)).counts) for view in async_to_sync(load_recent)()}
    assert counts == {"one": 7, "two": 0}


def test_one_that_says_what_nobody_knows_keeps_no_other_from_being_shown(
    cast: Cast, caplog: pytest.LogCaptureFixture
) -> None:
    odd, _ = recorded("odd"), recorded("two", minutes=1)
    hold(odd, ["a"], kind="zzz")
    assert [view.label for view in async_to_sync(load_recent)()] == ["two"]
    assert str(odd.pk) in caplog.text
