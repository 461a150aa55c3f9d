"""All tables as they were with commit 20421b6, whose databases go on from here: nothing is done to them.

What Django's models cannot say lies in the modules beside this one whose names begin with an underscore.
"""

from django.conf import settings
from django.db import migrations

from streamviz.records.migrations import (
    _half_hours,
    _limits,
    _record_tables,
    _runs,
    _search,
    _setup_tables,
    _starters,
    _streams,
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

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        *_setup_tables.TABLES,
        *_record_tables.TABLES,
        migrations.SeparateDatabaseAndState([migrations.RunSQL(_runs.TABLES)], _record_tables.RUNS),
        migrations.RunSQL([_runs.DAYS, _runs.VIEWS]),
        migrations.RunSQL([_streams.STORAGE, _streams.NOTIFY]),
        migrations.RunSQL(_search.SEARCH),
        migrations.RunSQL(_half_hours.ADD_UP),
        migrations.RunSQL([_limits.RESERVE, _limits.SETTLE]),
        migrations.RunPython(_starters.add, migrations.RunPython.noop),
    ]
