"""Wire lint in the record: noted when a stream has ended, counted by provider and model, deleted with the stream."""

from datetime import timedelta

import pytest

from streamviz.records.deletion import delete_session
from streamviz.records.models import LintNote, Stream
from streamviz.records.queries.lint import Broken, broken_rules
from streamviz.records.writer import linting
from tests.core.support import delta, sse
from tests.records.history import NOW, store, story
from tests.records.support import write

pytestmark = pytest.mark.django_db(transaction=True)

CLEAN = [sse(delta(role="assistant", content="Hi")), sse(delta(finish="stop")), b"data: [DONE]\n\n"]
ODD = [sse(delta(role="assistant", content=["Hi"])), sse(delta(content=[])), *CLEAN[1:]]


def test_broken_rules_are_counted_by_model() -> None:
    store(
        story(NOW, CLEAN, session="a"),
        story(NOW, ODD, session="b", number=1, requested_model="odd", provider="someone"),
        story(NOW + timedelta(hours=2), ODD, session="c", number=2),
    )
    assert broken_rules(NOW, NOW + timedelta(hours=1)) == [Broken("someone", "odd", "content_not_text", 1, 2)]
    assert broken_rules(NOW, NOW + timedelta(days=1))[0].demand == "content is text"


def test_streams_whose_chunks_were_stored_before_are_read_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linting, "MOST_CHUNKS", 2 * len(CLEAN) - 1)
    monkeypatch.setattr(linting, "RUN", 1)
    told = enumerate([ODD, CLEAN, ODD, ODD, CLEAN])
    stories = [story(NOW, chunks, session="a", number=number) for number, chunks in told]
    write(*([entry for _, entries in stories for entry in entries[part]] for part in (slice(-1), slice(-1, None))))
    noted = LintNote.objects.filter(rule="content_not_text").values_list("stream", "times")
    assert set(noted) == {(stories[at][0], 2) for at in (0, 2, 3)}


def test_what_is_missing_is_not_noted_of_a_stream_that_did_not_complete() -> None:
    store(story(NOW, CLEAN[:1], session="a", outcome="client_disconnected"), story(NOW, CLEAN[:1], number=1))
    assert {str(note.rule) for note in LintNote.objects.all()} == {"end_missing", "finish_missing"}
    assert LintNote.objects.values("stream").distinct().count() == 1


def test_notes_go_with_their_stream() -> None:
    [stream_id] = store(story(NOW, ODD, session="b"))
    delete_session(Stream.objects.get(pk=stream_id).session_id)
    assert not LintNote.objects.exists()
