"""The newest recorded streams, as rows of a Live page that no one watched while they ran."""

import pytest
from asgiref.sync import async_to_sync

from streamviz.dashboard.exports import markdown
from streamviz.live.feed import Feed
from streamviz.live.presentation.rows import row_of
from streamviz.live.recorded import Recorded
from streamviz.live.wall import Wall
from streamviz.records.deletion import delete_session
from streamviz.records.models import Stream, Verdict
from streamviz.records.moments import as_microseconds
from tests.dashboard.conftest import NOON, Cast, hold, recorded

# Live pages read the record in threads, which see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_row_of_the_record_has_its_sparkline(cast: Cast) -> None:
    hold(recorded("one"), raws=[b"data: a"] * 7)
    recorded("two", minutes=1)
    recent = async_to_sync(Recorded().recent)()
    counts = {view.label: sum(row_of(view, as_microseconds(NOON)).counts) for view in recent}
    assert counts == {"one": 7, "two": 0}


def test_a_stream_with_an_unknown_kind_of_block_keeps_no_other_from_being_shown(
    cast: Cast, caplog: pytest.LogCaptureFixture
) -> None:
    odd, _ = recorded("odd"), recorded("two", minutes=1)
    hold(odd, ["a"], kind="zzz")
    assert [view.label for view in async_to_sync(Recorded().recent)()] == ["two"]
    assert str(odd.pk) in caplog.text


def test_a_verdict_of_a_policy_that_is_not_on_record_keeps_no_page_from_being_shown(cast: Cast) -> None:
    stream = recorded("restored")  # from a journal that is newer than the database
    Verdict.objects.create(
        stream=stream, number=0, policy_version_id=999_999, mode="enforce", decision="deny", reason="It deletes.",
        subject="request", at=NOON, took_us=1,
    )  # fmt: skip
    assert [view.label for view in async_to_sync(Recorded().recent)()] == ["restored"]
    for path in ("/", "/policies/", f"/streams/{stream.pk}/", f"/sessions/{stream.session_id}/"):
        assert cast["alice"].get(path).status_code == 200
    assert "unknown policy" in cast["alice"].get(f"/streams/{stream.pk}/").content.decode()
    said = b"".join(markdown.write(Stream.objects.all(), "http://testserver"))
    assert b"unknown policy: deny the request. It deletes." in said


def test_what_was_deleted_is_gone_from_live_though_nobody_was_told(cast: Cast) -> None:
    kept, deleted = recorded("kept"), recorded("deleted", minutes=1)
    now = as_microseconds(NOON)
    wall = Wall(Feed(), Recorded())
    async_to_sync(wall.look_at_record)(now)
    assert wall.entries.keys() == {kept.pk, deleted.pk}
    delete_session(deleted.session_id)
    async_to_sync(wall.look_at_record)(now)
    assert wall.entries.keys() == {kept.pk}
