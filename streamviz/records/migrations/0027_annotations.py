"""People give streams stars, notes and labels."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

# Whatever deletes a stream takes them away.
GO_TOGETHER = """
ALTER TABLE records_annotation ADD CONSTRAINT annotation_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):
    dependencies = [
        ("records", "0026_default_provider"),
    ]

    operations = [
        migrations.CreateModel(
            name="Annotation",
            fields=[
                (
                    "stream",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="annotation",
                        serialize=False,
                        to="records.stream",
                    ),
                ),
                ("is_starred", models.BooleanField(default=False)),
                ("note", models.TextField(blank=True)),
                (
                    "labels",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("is_starred", True)), fields=["stream"], name="stream_starred"),
                    django.contrib.postgres.indexes.GinIndex(fields=["labels"], name="stream_labels"),
                ],
            },
        ),
        migrations.RunSQL(GO_TOGETHER, migrations.RunSQL.noop),
    ]
