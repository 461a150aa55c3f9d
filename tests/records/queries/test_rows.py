"""Queries with a time limit: nested in others, and followed by more after one was given up."""

import pytest

from streamviz.records.queries.rows import SearchTooBroad, limited, planned, rows
from tests.records.conftest import Query

_TIMEOUT = "SHOW statement_timeout"


def test_a_limit_holds_for_what_is_asked_within_it_alone(query: Query) -> None:
    with planned("jit = off"):
        with limited(seconds=2):
            assert rows(_TIMEOUT) == [("2s",)]
            with limited(seconds=0.5):
                assert rows(_TIMEOUT) == [("500ms",)]
            assert rows(_TIMEOUT) == [("2s",)]
        assert rows(_TIMEOUT) == [("0",)]


def test_more_can_be_asked_after_one_that_was_given_up(query: Query) -> None:
    with limited():
        with pytest.raises(SearchTooBroad), limited(seconds=0.01):
            rows("SELECT pg_sleep(5)")
        assert rows(_TIMEOUT) == [("5s",)]
