"""Limits count what the record says was used, whatever policies were in force meanwhile."""

from django.db import migrations

from streamviz.records.migrations import _tallies


class Migration(migrations.Migration):
    dependencies = [("records", "0053_other_names")]

    operations = [
        _tallies.WITHOUT_FORMER,
        *_tallies.TABLES,
        migrations.RunSQL([_tallies.COUNT, _tallies.ENTER, _tallies.FILL], migrations.RunSQL.noop),
    ]
