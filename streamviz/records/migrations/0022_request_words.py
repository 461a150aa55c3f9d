"""What requests held can be searched for."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

# Whatever deletes a stream takes its words away.
GO_TOGETHER = """
ALTER TABLE records_requestwords ADD CONSTRAINT request_words_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0021_public_links")]

    operations = [
        migrations.CreateModel(
            name="RequestWords",
            fields=[
                (
                    "stream",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="request_words",
                        serialize=False,
                        to="records.stream",
                    ),
                ),
                ("session_id", models.UUIDField()),
                ("standing", models.BigIntegerField()),
                ("search", django.contrib.postgres.search.SearchVectorField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session_id", "standing"], name="request_words_of_session"),
                    django.contrib.postgres.indexes.GinIndex(fields=["search"], name="request_words_search"),
                ],
            },
        ),
        migrations.RunSQL(GO_TOGETHER, migrations.RunSQL.noop),
    ]
