"""The whole schema, by topic: what is in the modules beside this one whose names begin with an underscore.

For new databases. Those of before the first release, which have the migrations that this one replaces, are brought to
it by `0050_former_databases`.
"""

from django.conf import settings
from django.db import migrations

from streamviz.records.migrations import (
    _access,
    _blocks,
    _changes,
    _former,
    _half_hours,
    _limits,
    _partitions,
    _people,
    _policies,
    _runs,
    _search,
    _starters,
    _streams,
    _upkeep,
)

REPLACED = (
    "0001_initial",
    "0002_views_triggers_storage",
    "0003_first_policy",
    "0004_policy_engine",
    "0005_runs_by_day",
    "0006_compress_small_runs",
    "0007_backtests_workers",
    "0008_starter_set",
    "0009_search_and_indexes",
    "0010_client_waits",
    "0011_half_hours",
    "0012_days_with_rows",
    "0013_usable_starters",
    "0014_sign_in_attempts",
    "0015_limits_that_bind",
)


class Migration(migrations.Migration):
    replaces = [("records", name) for name in REPLACED]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        *_policies.TABLES,
        *_access.TABLES,
        migrations.RunSQL([_changes.NOTIFY, _changes.OF_MCP_SERVERS, _changes.OF_DECIDERS]),
        migrations.RunPython(_starters.add, migrations.RunPython.noop),
        *_streams.SESSIONS,
        *_streams.STREAMS,
        migrations.RunSQL([_partitions.FIRST_ID, _partitions.FUNCTIONS, _streams.STORAGE]),
        *_streams.INDEXES,
        *_blocks.TABLES,
        *_blocks.KEYS,
        *_blocks.INDEXES,
        migrations.RunSQL([_search.WORDS, _search.OF_BLOCKS, _search.OF_SESSIONS, _search.ERRORS, _search.OF_ERRORS]),
        *_streams.LATER_INDEXES,
        *_blocks.LATER_INDEXES,
        migrations.SeparateDatabaseAndState([migrations.RunSQL(_runs.TABLES)], _runs.STATE),
        migrations.RunSQL([_runs.CHUNKS, _runs.FRAMES]),
        *_half_hours.TABLES,
        migrations.RunSQL(
            [_half_hours.HALF_HOUR, _half_hours.ADD_UP, _half_hours.STORED_OR_DELETED, _half_hours.ENDED]
        ),
        *_limits.TABLES,
        migrations.RunSQL([_limits.RESERVE, _limits.SETTLE]),
        *_people.TABLES,
        *_upkeep.TABLES,
        migrations.RunPython(_former.note_all, migrations.RunPython.noop),
    ]
