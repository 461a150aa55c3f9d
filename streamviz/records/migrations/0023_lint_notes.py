"""What upstream sent that its format does not allow is kept, so that it can be counted."""

import django.db.models.deletion
from django.db import migrations, models

# Whatever deletes a stream takes its notes away.
GO_TOGETHER = """
ALTER TABLE records_lintnote ADD CONSTRAINT lint_note_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0022_request_words")]

    operations = [
        migrations.CreateModel(
            name="LintNote",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "stream_id", "rule", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("rule", models.CharField(max_length=40)),
                ("seq", models.PositiveIntegerField(help_text="The first chunk that broke it.")),
                ("times", models.PositiveIntegerField()),
                ("at", models.DateTimeField(help_text="When the stream was requested.")),
                ("provider", models.CharField(blank=True, max_length=100)),
                ("model", models.TextField(help_text="The model that was asked for.")),
                (
                    "stream",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="lint_notes",
                        to="records.stream",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["at"], include=["provider", "model", "rule", "times"], name="lint_note_at"),
                ],
            },
        ),
        migrations.RunSQL(GO_TOGETHER, migrations.RunSQL.noop),
    ]
