"""The cost of looking for an answer of which a client did not get all calls."""

import pytest

from streamviz.records.ids import around
from streamviz.records.links import Kind, numbered
from streamviz.records.queries.denied_calls import ANSWER
from tests.records.conftest import Query
from tests.records.history import NOW, store, story
from tests.records.writer.test_retries import POPULAR, read_by


@pytest.mark.parametrize("others", [300, 3_000])
def test_an_answer_that_there_is_not_is_not_looked_for_among_all(query: Query, others: int) -> None:
    [stream] = store(story(NOW, session="one", marks=(numbered(Kind.ID, b"known"),)))
    query(POPULAR, others, stream)
    query("ANALYZE records_stream")
    assert read_by(ANSWER, {"marks": [numbered(Kind.ID, b"unknown")], "first": around([stream]).first}) == 0
