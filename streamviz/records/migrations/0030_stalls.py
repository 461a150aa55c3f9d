"""How long streams stood still, and for whom, is kept, so that it can be counted."""

import django.db.models.deletion
from django.db import migrations, models

# Whatever deletes a stream takes them away.
GO_TOGETHER = """
ALTER TABLE records_stall ADD CONSTRAINT stall_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):
    dependencies = [
        ("records", "0029_downloads"),
    ]

    operations = [
        migrations.CreateModel(
            name="Stall",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "stream_id", "cause", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "cause",
                    models.CharField(
                        choices=[("upstream", "Upstream"), ("held", "Held"), ("client", "Client")], max_length=10
                    ),
                ),
                ("times", models.PositiveIntegerField()),
                ("lasted_us", models.BigIntegerField()),
                ("at", models.DateTimeField(help_text="When the stream was requested.")),
                (
                    "stream",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="stalls",
                        to="records.stream",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["at"], include=("cause", "times", "stream"), name="stall_at")],
            },
        ),
        migrations.RunSQL(GO_TOGETHER, migrations.RunSQL.noop),
    ]
