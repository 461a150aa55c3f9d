"""Databases of before the first release get what they lack."""

from django.db import migrations

from streamviz.records.migrations import _former


class Migration(migrations.Migration):
    # Each step that is a transaction is one of its own.
    atomic = False
    dependencies = [("records", "0001_schema")]

    operations = [_former.upgrade(name) for name in _former.STEPS]
