"""What databases of before the first release lack: each stands at one of the migrations of then, 0015 to 0049.

Their steps go one by one, each noted under the name of the migration that it was, and those that are noted already are
left out. Tables, columns and indexes are at once as `0001_schema` has them; what a later one took back is not done.
"""

from collections.abc import Callable
from typing import Any

from django.db import migrations
from django.db.migrations.recorder import MigrationRecorder

from streamviz.records.migrations import (
    _blocks,
    _changes,
    _days,
    _half_hours,
    _indexes,
    _limits,
    _runs,
    _search,
    _streams,
    _tokens,
)

Step = Callable[[Any, Any], None]

# A label was the client's name where it told one.
_NAMES_OF_SESSIONS = """
UPDATE records_session AS session SET name = label, label = ''
WHERE EXISTS (SELECT FROM records_stream WHERE session_id = session.id AND is_named)
"""
# What keys had reserved before names no stream: it stays with its tally, and counts as what was reserved.
_RESERVED_BY_PERIOD = """
ALTER TABLE records_reservation ADD COLUMN period varchar(5) NOT NULL DEFAULT '';
ALTER TABLE records_reservation ALTER COLUMN period DROP DEFAULT, DROP CONSTRAINT records_reservation_pkey,
    ADD CONSTRAINT records_reservation_pkey PRIMARY KEY (stream_id, period);
DROP FUNCTION streamviz_reserve(uuid, uuid, uuid, bigint, double precision);
DROP FUNCTION streamviz_settle(uuid, uuid, bigint, bigint, bigint, bigint, double precision, boolean, bigint);
"""
_FIRST_VERSIONS_OF_ROUTES = """
INSERT INTO records_routeversion
    (route_id, number, target, base_url, credential, executor, parameters, changed_at, reason)
SELECT id, 1, target, base_url, credential, executor, parameters, now(), '' FROM records_route;
UPDATE records_route SET version = 1;
"""
# Imported streams may have ids that do not tell when they were requested. This reads index stream_newest from end to
# end, in a transaction of its own: adding the column keeps everybody from the sessions for as long as its own takes.
_NOT_DATED = """
UPDATE records_session SET is_dated = false WHERE id IN (
    SELECT session_id FROM records_stream
    WHERE id < streamviz_first_id(requested_at - interval '1 day')
        OR id >= streamviz_first_id(requested_at + interval '1 day')
)
"""
# The conversations of keys that are there stay known by the key's name.
_OWNERS_OF_KEYS = "UPDATE records_apikey SET owner = name"


def _tables(*names: str) -> Step:
    def create(apps: Any, editor: Any) -> None:
        for name in names:
            editor.create_model(apps.get_model("records", name))

    return create


def _columns(of: str, *names: str) -> Step:
    """Those that it lacks: a table that an earlier step has made has all."""

    def add(apps: Any, editor: Any) -> None:
        model = apps.get_model("records", of)
        with editor.connection.cursor() as cursor:
            found = editor.connection.introspection.get_table_description(cursor, model._meta.db_table)
        there = {column.name for column in found}
        for name in names:
            if name not in there:
                editor.add_field(model, model._meta.get_field(name))

    return add


def _indexes_of(of: str, *names: str, concurrently: bool = False) -> Step:
    """Anew, where there are some: one of before has other columns, one that was given up is of no use."""

    def add(apps: Any, editor: Any) -> None:
        model = apps.get_model("records", of)
        for index in (each for each in model._meta.indexes if each.name in names):
            _drop(index.name, concurrently=concurrently)(apps, editor)
            editor.add_index(model, index, concurrently=concurrently)

    return add


def _drop(*indexes: str, concurrently: bool = False) -> Step:
    how = "CONCURRENTLY" if concurrently else ""
    return _sql(*(f"DROP INDEX {how} IF EXISTS {name}" for name in indexes))


def _sql(*statements: str) -> Step:
    def execute(_: Any, editor: Any) -> None:
        for statement in statements:
            editor.execute(statement, params=None)

    return execute


STEPS: dict[str, tuple[Step, ...]] = {
    "0016_tokens": (
        _columns("halfhour", "cached_tokens", "estimated"),
        _columns("stream", "cache_read_tokens", "cache_written_tokens", "reasoning_tokens"),
        _columns("stream", "is_estimated", "hides_usage"),
        _indexes_of("stream", "stream_newest"),
        _sql("DROP TRIGGER streamviz_ended ON records_stream", _half_hours.ADD_UP, _half_hours.ENDED, _runs.FRAMES),
        _tokens.count_anew,
    ),
    "0017_conversations": (
        _columns("stream", "asked", "is_named", "marks", "parent", "relation"),
        _indexes_of("stream", "stream_of_parent", "stream_by_mark", "stream_asking"),
    ),
    "0018_settle_moved": (),
    "0019_left_out": (_columns("stream", "left_out"),),
    "0020_session_name": (
        _columns("session", "name"),
        _sql(_NAMES_OF_SESSIONS, "DROP INDEX session_search", _search.OF_SESSIONS),
    ),
    "0021_public_links": (_tables("PublicLink"),),
    "0022_request_words": (_tables("RequestWords"),),
    "0023_lint_notes": (_tables("LintNote"),),
    "0024_errors": (_sql(_search.ERRORS, _search.OF_ERRORS),),
    "0025_saved_views": (_tables("SavedView"),),
    "0026_default_provider": (_columns("apikey", "default_provider"),),
    "0027_annotations": (_tables("Annotation"),),
    "0028_not_run": (_indexes_of("stream", "stream_not_run"),),
    "0029_downloads": (_tables("Download"),),
    "0030_stalls": (_tables("Stall"),),
    "0031_reserved_by_period": (_sql(_RESERVED_BY_PERIOD, _limits.RESERVE, _limits.SETTLE),),
    "0032_request_headers": (_columns("stream", "request_headers"),),
    "0033_runs": (
        _columns("apikey", "may_choose_executor"),
        _columns("route", "executor", "parameters", "version"),
        _columns("stream", "executor", "part"),
        _tables("RouteVersion"),
        _sql(_FIRST_VERSIONS_OF_ROUTES),
    ),
    "0034_mcp_servers": (_tables("McpServer"), _sql(_changes.OF_MCP_SERVERS)),
    "0035_media_blocks": (),
    "0036_archive": (_tables("ArchiveObject", "ArchivedPart"),),
    "0037_days_of_streams": (_days.partition,),
    "0038_dated_sessions": (_columns("session", "is_dated"),),
    "0039_archived_length": (_columns("archivedpart", "length"),),
    "0040_undated_sessions": (_sql(_NOT_DATED),),
    "0041_key_owner": (_columns("apikey", "owner"), _sql(_OWNERS_OF_KEYS)),
    "0042_policy_samples": (_indexes.add(*_blocks.VERDICT_SAMPLE), _indexes.add(*_blocks.HELD_SAMPLE)),
    "0043_stream_sampled": (
        _indexes.add(*_streams.SAMPLED),
        _indexes.add(*_streams.SAMPLED_LESS),
        _indexes.drop("stream_sample"),
        _indexes.add(*_streams.COSTLY),
    ),
    "0044_session_beginnings": (
        _indexes_of("session", "session_of_label", "session_of_name", "session_undated", concurrently=True),
        _drop("session_label", "session_name", concurrently=True),
    ),
    "0045_unusual_ends": (_indexes.add(*_streams.UNUSUAL_END),),
    "0046_deleted_sessions": (_tables("DeletedSession"),),
    "0047_session_age": (),
    "0048_deciders": (_sql(_changes.OF_DECIDERS),),
    "0049_denied_requests": (_sql(_limits.RESERVE),),
}
# Streams are locked for the last part of their step alone, and nobody waits for an index of all that there is.
NOT_ATOMIC = {"0037_days_of_streams", "0042_policy_samples", "0043_stream_sampled"}
NOT_ATOMIC |= {"0044_session_beginnings", "0045_unusual_ends"}


def upgrade(name: str) -> migrations.RunPython:
    """The operation that takes this step and notes it, in one transaction unless the step cannot be in one."""
    is_atomic = name not in NOT_ATOMIC

    def forwards(apps: Any, editor: Any) -> None:
        recorder = MigrationRecorder(editor.connection)
        if ("records", name) in recorder.applied_migrations():
            return
        with editor.connection.schema_editor(atomic=is_atomic) as own:
            for step in STEPS[name]:
                step(apps, own)
            recorder.record_applied("records", name)

    return migrations.RunPython(forwards, migrations.RunPython.noop)


def note_all(_: Any, editor: Any) -> None:
    """Note that a new database lacks nothing."""
    for name in STEPS:
        MigrationRecorder(editor.connection).record_applied("records", name)
