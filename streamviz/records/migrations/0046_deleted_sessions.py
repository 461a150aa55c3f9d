"""Deleted sessions are remembered, for what a journal still holds of streams of theirs that nobody had stored."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0045_unusual_ends")]

    operations = [
        migrations.CreateModel(
            name="DeletedSession",
            fields=[
                ("session_id", models.UUIDField(primary_key=True, serialize=False)),
                ("deleted_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
