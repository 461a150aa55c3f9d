"""Calls that were cancelled before their first byte count where limits are counted from the record."""

from django.db import migrations

from streamviz.records.migrations import _limits


class Migration(migrations.Migration):
    dependencies = [("records", "0050_former_databases")]

    operations = [migrations.RunSQL(_limits.RESERVE, migrations.RunSQL.noop)]
