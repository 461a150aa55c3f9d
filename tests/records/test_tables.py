"""No column is forgotten, and each has its field's value."""

from typing import Any

import psycopg
import pytest
from django.db.models import Model

from streamviz.records.block_record import BlockRecord
from streamviz.records.models import Block, ClientRun, Session, Stream, UpstreamRun, Verdict
from streamviz.records.recorder import StreamClosed, StreamOpened
from streamviz.records.tables import BLOCK, CLOSED, OPENED, SESSION, VERDICT
from streamviz.records.verdict_record import VerdictRecord
from streamviz.records.writer import run_tables
from tests.records.conftest import Query
from tests.records.filled import filled, plain
from tests.records.former import former_database
from tests.records.history import day, id_at, make_policy, store
from tests.records.support import closed, judged, opened, write

# Set by people later on.
BY_PEOPLE = {"is_starred", "note"}
# The last migration that could not be applied while servers run.
LAST_WITHOUT_SERVERS = "0032"
COLUMNS = """
SELECT table_name, column_name, is_nullable = 'YES' OR column_default IS NOT NULL FROM information_schema.columns
WHERE table_name ~ '^records_'
"""
FILLED: list[tuple[type[Model], set[str]]] = [
    (Session, {*SESSION.names} | BY_PEOPLE),
    (Stream, {*OPENED.names, *CLOSED.names}),
    (Block, {*BLOCK.names}),
    (Verdict, {*VERDICT.names}),
    (UpstreamRun, {"stream_id", *run_tables.UPSTREAM.columns}),
    (ClientRun, {"stream_id", *run_tables.CLIENT.columns}),
]


@pytest.mark.parametrize(("model", "columns"), FILLED, ids=[model.__name__ for model, _ in FILLED])
def test_each_column_is_filled_from_an_entry(model: type[Model], columns: set[str]) -> None:
    assert {field.column for field in model._meta.concrete_fields if field.column} == columns


def test_a_new_column_needs_no_value_from_older_servers(postgres: dict[str, Any], query: Query) -> None:
    """After a migration they go on writing the columns that they know (docs/deploy.md)."""
    with former_database(postgres, LAST_WITHOUT_SERVERS) as url, psycopg.connect(url) as former:
        known = [(table, name) for table, name, _ in former.execute(COLUMNS)]
    tables = {table for table, _ in known}
    added = [each for each in query(COLUMNS) if each[0] in tables and each[:2] not in known]
    assert len(added) >= 8
    assert [each for each in added if not each[2]] == []


def test_each_column_has_what_its_field_says(query: Query) -> None:
    stream_id, version_id = id_at(day(1)), make_policy()
    head = filled(StreamOpened, stream_id=stream_id, session_id=id_at(day(1), 1), key_id=None)
    block = filled(BlockRecord)
    verdict = filled(VerdictRecord, policy_version_id=version_id)
    end = filled(StreamClosed, stream_id=stream_id, blocks=[block])
    store((stream_id, [head, judged(stream_id, verdict), end]))
    for table, entry in ((SESSION, head), (OPENED, head), (CLOSED, end), (BLOCK, block), (VERDICT, verdict)):
        [row] = table.model._default_manager.values()
        told = OPENED.values(head) | CLOSED.values(end) if table.model is Stream else table.values(entry)
        for name, value in told.items():
            assert plain(row[name]) == plain(value), f"{table.model.__name__}.{name}"
    for table, entry in ((OPENED, head), (CLOSED, end), (BLOCK, block), (VERDICT, verdict)):
        read_back = table.reader("blocks")(table.model._default_manager.get())
        assert read_back == {field: getattr(entry, field) for field in read_back}


def test_what_a_beginning_says_is_replaced_once_its_request_is_settled(query: Query) -> None:
    """Until then policies may change the request, and with its model whatever follows from that. What the writer itself
    has found out meanwhile stays."""
    stream_id, session_id = id_at(day(1)), id_at(day(1), 1)
    settled = filled(StreamOpened, stream_id=stream_id, session_id=session_id, key_id=None)
    began = opened(stream_id, session_id=session_id, request=b"")
    write([began])
    [before] = OPENED.model._default_manager.values()
    write([began], [settled])
    [after] = OPENED.model._default_manager.values()
    kept = {"session_id", "key_id", "parent", "relation", "asked"}
    for name, value in OPENED.values(settled).items():
        assert plain(after[name]) == plain(before[name] if name in kept else value), name


def test_a_beginning_replaces_nothing_of_a_stream_that_is_over(query: Query) -> None:
    """As when a part of the journal is read again, and requests are not kept."""
    stream_id, session_id = id_at(day(1)), id_at(day(1), 1)
    began = opened(stream_id, session_id=session_id, request=b"")
    write([began, closed(stream_id, upstream_model="another")])
    before = query("SELECT * FROM records_stream")
    write([filled(StreamOpened, stream_id=stream_id, session_id=session_id, request=b"", key_id=None)])
    assert query("SELECT * FROM records_stream") == before
