"""Imports that were ended in their midst, and what people here said meanwhile."""

import uuid
from collections.abc import Sequence

import pytest

from streamviz.core.json_value import JsonObject
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.exporting import export
from streamviz.records.importing import Importing
from streamviz.records.models import Annotation, Session, Stream
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.store import Store
from tests.records.conftest import Query
from tests.records.history import day, store, story
from tests.records.test_exporting import everything, take

KEPT: JsonObject = {"is_starred": True, "note": "Look at this.", "labels": ["flaky"]}


class Killed(Store):
    """Its process ends once it has stored so many streams."""

    left = 1

    def write(self, batches: Sequence[Batch]) -> list[Batch]:
        super().write(batches)
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return []


@pytest.fixture
def session(query: Query) -> uuid.UUID:
    """A session of two streams, of which people said something."""
    for stream_id in store(story(day(1), session="one"), story(day(0), session="one", number=1)):
        Annotation.objects.create(stream_id=stream_id, **KEPT)
    Session.objects.update(is_starred=True, note="And at all of it.")
    return Session.objects.get().pk


@pytest.mark.parametrize("streams", [1, 2])
def test_what_people_said_comes_with_the_import_after_one_that_was_killed(
    query: Query, session: uuid.UUID, streams: int
) -> None:
    before, lines = everything(query), list(export([session]))
    delete_session(session)
    killed = Killed(conninfo)
    killed.left = streams
    with pytest.raises(KeyboardInterrupt):
        Importing(killed).take(lines)
    killed.close()
    assert Stream.objects.count() == streams
    take(lines)
    assert everything(query) == before


def test_what_was_taken_off_a_stream_here_stays_off(session: uuid.UUID) -> None:
    lines = list(export([session]))
    Annotation.objects.update(is_starred=False, note="", labels=[])
    Session.objects.update(note="Ours.")
    take(lines)
    assert not Annotation.objects.filter(is_starred=True).exists()
    assert set(Annotation.objects.values_list("note", flat=True)) == {""}
    assert Session.objects.get().note == "Ours."
