"""Whose conversations a key's are: those of keys that are there stay known by the key's name."""

import secrets

from django.db import migrations, models

NAMES = "UPDATE records_apikey SET owner = name"


class Migration(migrations.Migration):
    dependencies = [("records", "0040_undated_sessions")]

    operations = [
        migrations.AddField(
            "apikey",
            "owner",
            models.CharField(default=secrets.token_hex, db_default="", max_length=100, editable=False),
        ),
        migrations.RunSQL(NAMES, migrations.RunSQL.noop),
    ]
