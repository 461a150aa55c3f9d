"""What people store, and who tried to sign in."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


def _of(model: str) -> models.ForeignKey:
    return models.ForeignKey(
        model, null=True, on_delete=django.db.models.deletion.DO_NOTHING, db_constraint=False, related_name="+"
    )


TABLES = [
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
                models.Index(condition=Q(is_starred=True), fields=["stream"], name="stream_starred"),
                django.contrib.postgres.indexes.GinIndex(fields=["labels"], name="stream_labels"),
            ],
        },
    ),
    migrations.CreateModel(
        name="SavedView",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("name", models.CharField(max_length=60)),
            ("page", models.CharField(max_length=20)),
            ("query", models.CharField(blank=True, max_length=1000)),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="saved_views",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "ordering": ["name"],
            "constraints": [models.UniqueConstraint(fields=("user", "name"), name="view_name")],
        },
    ),
    migrations.CreateModel(
        name="Download",
        fields=[
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("streams", models.PositiveIntegerField(default=0)),
            ("total", models.PositiveIntegerField(null=True)),
            ("is_whole", models.BooleanField(default=False)),
            ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="downloads",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="PublicLink",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("digest", models.CharField(editable=False, max_length=64, unique=True)),
            ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ("expires_at", models.DateTimeField()),
            ("revoked_at", models.DateTimeField(null=True)),
            (
                "created_by",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            ("session", _of("records.session")),
            ("stream", _of("records.stream")),
        ],
        options={
            "ordering": ["-created_at"],
            "constraints": [
                models.CheckConstraint(
                    condition=Q(session=None, stream__isnull=False) | Q(stream=None, session__isnull=False),
                    name="public_link_of_one",
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="SignInAttempt",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("account", models.CharField(db_index=True, max_length=64)),
            ("address", models.CharField(db_index=True, max_length=50)),
            ("at", models.DateTimeField(db_index=True)),
        ],
    ),
]
