"""What Postgres will not take: when it is waited for, and how it is stored after all."""

import uuid
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from pytest_django import Settings

from streamviz.records.database import conninfo
from streamviz.records.writer import moving
from streamviz.records.writer.process import Writer
from streamviz.records.writer.refused import refused
from tests.records.conftest import Query
from tests.records.support import closed, journal_of, move, opened, received

ODD = """
CREATE OR REPLACE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.finish_reason = 'odd' THEN RAISE 'cache lookup failed' USING ERRCODE = 'XX000'; END IF; RETURN NEW;
END $$
"""


@pytest.fixture
def odd(query: Query) -> Iterator[None]:
    """Postgres has an internal error at some streams meanwhile."""
    query(ODD)
    query("CREATE OR REPLACE TRIGGER odd BEFORE INSERT OR UPDATE ON records_stream FOR EACH ROW EXECUTE FUNCTION odd()")
    yield
    query("DROP FUNCTION IF EXISTS odd CASCADE")


def test_an_internal_error_holds_up_no_other_stream_and_is_waited_out(query: Query, tmp_path: Path, odd: None) -> None:
    bad, good = uuid.uuid4(), uuid.uuid4()
    journal_of(tmp_path, [opened(bad), closed(bad, finish_reason="odd"), opened(good), closed(good)])
    writer = Writer(tmp_path, conninfo)
    with pytest.raises(psycopg.errors.InternalError_):
        while writer.turn():
            pass
    assert query("SELECT id FROM records_stream WHERE outcome = 'completed'") == [(good,)]
    query("DROP FUNCTION odd CASCADE")
    writer.finish()
    assert {row[0] for row in query("SELECT id FROM records_stream WHERE outcome = 'completed'")} == {bad, good}
    assert refused(tmp_path) == []


def test_where_it_lasts_its_stream_is_set_aside_and_can_be_stored_later(
    query: Query, tmp_path: Path, odd: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(moving, "ODD_SECONDS", 0.0)
    settings.JOURNAL_DIR = tmp_path
    bad = uuid.uuid4()
    journal_of(tmp_path, [opened(bad), received(bad, [b"x"]), closed(bad, finish_reason="odd")]).close()
    move(tmp_path)
    assert query("SELECT count(*) FROM records_stream") == [(0,)]
    for told, aside in (("1 streams handed back", 1), ("1 streams handed back", 0), ("0 streams handed back", 0)):
        call_command("store_again", stdout=(said := StringIO()))
        assert said.getvalue().startswith(told)
        move(tmp_path)
        assert len(refused(tmp_path)) == aside
        query("DROP FUNCTION IF EXISTS odd CASCADE")
    assert query("SELECT id FROM records_stream WHERE outcome = 'completed'") == [(bad,)]
    assert query("SELECT count(*) FROM records_upstreamrun") == [(1,)]
