"""What became of old data: what was deleted, the index of the archive, and what retention freed; and the workers."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

TABLES = [
    migrations.CreateModel(
        name="DeletedStream",
        fields=[
            ("stream_id", models.UUIDField(primary_key=True, serialize=False)),
            ("deleted_at", models.DateTimeField(default=django.utils.timezone.now)),
        ],
    ),
    migrations.CreateModel(
        name="DeletedSession",
        fields=[
            ("session_id", models.UUIDField(primary_key=True, serialize=False)),
            ("deleted_at", models.DateTimeField(default=django.utils.timezone.now)),
        ],
    ),
    migrations.CreateModel(
        name="ArchiveObject",
        fields=[
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("key", models.TextField()),
            ("size", models.BigIntegerField(default=0)),
            ("made_at", models.DateTimeField()),
            ("is_stale", models.BooleanField(default=True)),
        ],
        options={
            "indexes": [
                models.Index(condition=models.Q(is_stale=True), fields=["made_at"], name="archive_object_stale")
            ],
        },
    ),
    migrations.CreateModel(
        name="ArchivedPart",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "stream_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("stream_id", models.UUIDField()),
            ("number", models.PositiveIntegerField()),
            ("start", models.BigIntegerField()),
            ("size", models.PositiveIntegerField()),
            ("first_seq", models.PositiveIntegerField()),
            ("end_seq", models.PositiveIntegerField()),
            ("first_frame", models.PositiveIntegerField()),
            ("end_frame", models.PositiveIntegerField()),
            ("chunks", models.PositiveIntegerField()),
            ("payload_bytes", models.BigIntegerField()),
            ("is_whole", models.BooleanField()),
            (
                "object",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="parts", to="records.archiveobject"
                ),
            ),
            (
                "length",
                models.PositiveBigIntegerField(db_default=0, default=0, help_text="Bytes when unpacked; 0 if unknown."),
            ),
        ],
    ),
    migrations.CreateModel(
        name="RetentionRun",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("started_at", models.DateTimeField()),
            ("ended_at", models.DateTimeField(null=True)),
            ("freed", models.JSONField(default=list)),
        ],
        options={"ordering": ["-started_at"]},
    ),
    migrations.CreateModel(
        name="Worker",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("started_at", models.DateTimeField()),
            ("policies", models.JSONField(default=dict)),
        ],
    ),
]
