"""No column is forgotten, and each has its field's value."""

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
from tests.records.history import day, id_at, make_policy, store
from tests.records.support import judged

# Set by people later on.
BY_PEOPLE = {"is_starred", "note"}
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
