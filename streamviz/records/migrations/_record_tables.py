"""The tables of the record, and their indexes."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import streamviz.records.ids

TABLES = [
    migrations.CreateModel(
        name="Session",
        fields=[
            ("id", models.UUIDField(default=streamviz.records.ids.uuid7, primary_key=True, serialize=False)),
            ("label", models.TextField(blank=True)),
            ("started_at", models.DateTimeField()),
            ("last_at", models.DateTimeField()),
            ("is_starred", models.BooleanField(default=False)),
            ("note", models.TextField(blank=True)),
            (
                "key",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="sessions",
                    to="records.apikey",
                ),
            ),
        ],
        options={"ordering": ["-last_at", "-id"]},
    ),
    migrations.CreateModel(
        name="Stream",
        fields=[
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("client", models.TextField(blank=True)),
            ("user_agent", models.TextField(blank=True)),
            ("endpoint", models.CharField(max_length=100)),
            ("wire_format", models.CharField(max_length=30)),
            ("is_streaming", models.BooleanField()),
            ("requested_model", models.TextField()),
            ("upstream_model", models.TextField(blank=True)),
            ("provider", models.CharField(blank=True, max_length=100)),
            ("request", models.BinaryField()),
            (
                "outcome",
                models.CharField(
                    blank=True,
                    choices=[
                        ("completed", "Completed"),
                        ("halted", "Halted"),
                        ("upstream_error", "Upstream Error"),
                        ("client_disconnected", "Client Disconnected"),
                        ("interrupted", "Interrupted"),
                    ],
                    max_length=20,
                ),
            ),
            ("finish_reason", models.TextField(blank=True)),
            ("status", models.PositiveSmallIntegerField(null=True)),
            ("error", models.TextField(blank=True)),
            ("usage", models.JSONField(null=True)),
            ("input_tokens", models.BigIntegerField(null=True)),
            ("output_tokens", models.BigIntegerField(null=True)),
            ("cost", models.DecimalField(decimal_places=8, max_digits=14, null=True)),
            ("chunk_count", models.PositiveIntegerField(default=0)),
            ("frame_count", models.PositiveIntegerField(default=0)),
            ("block_count", models.PositiveIntegerField(default=0)),
            ("requested_at", models.DateTimeField()),
            ("upstream_first_at", models.DateTimeField(null=True)),
            ("client_first_at", models.DateTimeField(null=True)),
            ("ended_at", models.DateTimeField(null=True)),
            ("itl_p50_us", models.BigIntegerField(null=True)),
            ("itl_p95_us", models.BigIntegerField(null=True)),
            ("not_run", models.JSONField(default=list, help_text="The policies that did not judge it, and why.")),
            ("worker", models.UUIDField(help_text="Whose journal it was recorded in.", null=True)),
            (
                "client_waits",
                models.JSONField(
                    help_text="From when to when its client did not take what it was sent, in µs since the epoch.",
                    null=True,
                ),
            ),
            (
                "key",
                models.ForeignKey(
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="streams",
                    to="records.apikey",
                ),
            ),
            (
                "session",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="streams", to="records.session"
                ),
            ),
        ],
        options={"ordering": ["-requested_at", "-id"]},
    ),
    migrations.CreateModel(
        name="Block",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("ordinal", models.PositiveIntegerField()),
            (
                "kind",
                models.CharField(
                    choices=[
                        ("content", "content"),
                        ("thinking", "thinking"),
                        ("tool_call", "tool_call"),
                        ("refusal", "refusal"),
                        ("other", "other"),
                    ],
                    max_length=20,
                ),
            ),
            ("choice", models.PositiveIntegerField(default=0)),
            ("index", models.PositiveIntegerField(null=True)),
            ("upstream_id", models.TextField(blank=True)),
            ("name", models.TextField(blank=True)),
            ("label", models.TextField(blank=True)),
            ("text", models.TextField(blank=True)),
            ("signature", models.TextField(blank=True)),
            ("first_seq", models.PositiveIntegerField()),
            ("last_seq", models.PositiveIntegerField()),
            ("started_at", models.DateTimeField()),
            ("completed_at", models.DateTimeField(null=True)),
            ("held_at", models.DateTimeField(null=True)),
            ("released_at", models.DateTimeField(null=True)),
            (
                "held_by",
                django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
            ),
            ("is_truncated", models.BooleanField(default=False)),
            (
                "length",
                models.PositiveIntegerField(default=0, help_text="In characters, whether the text is kept or not."),
            ),
            (
                "stream",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="blocks",
                    to="records.stream",
                ),
            ),
        ],
        options={"ordering": ["ordinal"]},
    ),
    migrations.CreateModel(
        name="Verdict",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("number", models.PositiveIntegerField()),
            ("ordinal", models.PositiveIntegerField(help_text="The block's.", null=True)),
            (
                "mode",
                models.CharField(choices=[("off", "off"), ("shadow", "shadow"), ("enforce", "enforce")], max_length=10),
            ),
            (
                "decision",
                models.CharField(
                    choices=[("allow", "allow"), ("replace", "replace"), ("deny", "deny"), ("halt", "halt")],
                    max_length=10,
                ),
            ),
            ("reason", models.TextField(blank=True)),
            ("failure", models.TextField(blank=True)),
            ("at", models.DateTimeField()),
            ("took_us", models.BigIntegerField()),
            ("by", models.TextField(blank=True)),
            ("client_had", models.PositiveIntegerField(default=0)),
            ("evidence", models.JSONField(default=dict)),
            (
                "subject",
                models.CharField(
                    choices=[("request", "request"), ("block", "block"), ("stream", "stream")],
                    default="block",
                    max_length=10,
                ),
            ),
            (
                "policy_version",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="verdicts", to="records.policyversion"
                ),
            ),
            (
                "stream",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="verdicts",
                    to="records.stream",
                ),
            ),
        ],
        options={"ordering": ["number"]},
    ),
    migrations.CreateModel(
        name="DeletedStream",
        fields=[
            ("stream_id", models.UUIDField(primary_key=True, serialize=False)),
            ("deleted_at", models.DateTimeField(default=django.utils.timezone.now)),
        ],
    ),
    migrations.CreateModel(
        name="Reservation",
        fields=[
            ("stream_id", models.UUIDField(primary_key=True, serialize=False)),
            ("session_id", models.UUIDField(db_index=True)),
            ("worker", models.UUIDField(db_index=True)),
            ("seen_at", models.DateTimeField()),
            ("output_tokens", models.BigIntegerField(null=True)),
            ("cost", models.FloatField(null=True)),
        ],
    ),
    migrations.CreateModel(
        name="SessionTally",
        fields=[
            ("session_id", models.UUIDField(primary_key=True, serialize=False)),
            ("began_at", models.DateTimeField()),
            ("touched_at", models.DateTimeField(db_index=True)),
            ("streams", models.BigIntegerField()),
            ("blocks", models.BigIntegerField()),
            ("tool_calls", models.BigIntegerField()),
            ("output_tokens", models.BigIntegerField()),
            ("cost", models.FloatField()),
            ("is_estimate", models.BooleanField()),
            ("unpriced", models.BigIntegerField()),
        ],
    ),
    migrations.CreateModel(
        name="HalfHour",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("requested_at", models.DateTimeField()),
            ("requested_model", models.TextField()),
            ("provider", models.TextField()),
            ("key_id", models.BigIntegerField(null=True)),
            ("outcome", models.TextField()),
            ("streams", models.BigIntegerField()),
            ("input_tokens", models.BigIntegerField()),
            ("output_tokens", models.BigIntegerField()),
            ("cost", models.DecimalField(decimal_places=8, max_digits=20)),
            ("reported_input", models.BigIntegerField()),
            ("reported", models.BigIntegerField()),
            ("priced", models.BigIntegerField()),
        ],
        options={"indexes": [models.Index(fields=["requested_at"], name="half_hour_time")]},
    ),
    migrations.AddIndex(model_name="session", index=models.Index(fields=["-last_at", "-id"], name="session_newest")),
    migrations.AddIndex(
        model_name="session", index=django.contrib.postgres.indexes.HashIndex(fields=["label"], name="session_label")
    ),
    migrations.AddIndex(
        model_name="session",
        index=models.Index(condition=models.Q(("is_starred", True)), fields=["id"], name="session_starred"),
    ),
    migrations.AddIndex(
        model_name="stream", index=models.Index(fields=["session", "requested_at"], name="stream_in_session")
    ),
    migrations.AddIndex(
        model_name="stream",
        index=models.Index(condition=models.Q(("outcome", "")), fields=["requested_at"], name="stream_open"),
    ),
    migrations.AddIndex(
        model_name="stream",
        index=models.Index(fields=["requested_model", "-requested_at", "-id"], name="stream_of_model"),
    ),
    migrations.AddIndex(
        model_name="stream", index=models.Index(fields=["key", "-requested_at", "-id"], name="stream_of_key")
    ),
    migrations.AddIndex(
        model_name="stream",
        index=models.Index(
            condition=models.Q(("outcome", "completed"), _negated=True),
            fields=["outcome", "-requested_at", "-id"],
            name="stream_that_failed",
        ),
    ),
    migrations.AddIndex(
        model_name="stream",
        index=models.Index(
            fields=["-requested_at", "-id"],
            include=(
                "outcome",
                "requested_model",
                "provider",
                "key",
                "session",
                "input_tokens",
                "output_tokens",
                "cost",
                "ended_at",
            ),
            name="stream_newest",
        ),
    ),
    migrations.AddIndex(
        model_name="block",
        index=models.Index(condition=models.Q(("held_at__isnull", False)), fields=["held_at"], name="block_held"),
    ),
    migrations.AddIndex(
        model_name="block",
        index=models.Index(condition=models.Q(("kind", "tool_call")), fields=["name", "stream"], name="block_of_tool"),
    ),
    migrations.AddConstraint(
        model_name="block", constraint=models.UniqueConstraint(fields=("stream", "ordinal"), name="block_ordinal")
    ),
    migrations.AddIndex(
        model_name="verdict", index=models.Index(fields=["policy_version", "-at"], name="verdict_newest")
    ),
    migrations.AddIndex(
        model_name="verdict",
        index=models.Index(
            condition=models.Q(("mode", "enforce"), models.Q(("decision", "allow"), _negated=True)),
            fields=["stream"],
            name="verdict_that_intervened",
        ),
    ),
    migrations.AddIndex(model_name="verdict", index=models.Index(fields=["at"], name="verdict_at")),
    migrations.AddConstraint(
        model_name="verdict", constraint=models.UniqueConstraint(fields=("stream", "number"), name="verdict_number")
    ),
]

# Made by `_runs.TABLES`: Django knows no partitions.
RUNS = [
    migrations.CreateModel(
        name="UpstreamRun",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "stream_id", "first_seq", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("first_seq", models.IntegerField()),
            ("first_at", models.BigIntegerField()),
            ("offsets", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("lengths", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("payload", models.BinaryField(null=True)),
            (
                "stream",
                models.ForeignKey(
                    db_constraint=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="upstream_runs",
                    to="records.stream",
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="ClientRun",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "stream_id", "first_frame", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("first_frame", models.IntegerField()),
            ("first_at", models.BigIntegerField()),
            ("offsets", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("first_seq", models.IntegerField(null=True)),
            ("origin", models.TextField(blank=True)),
            ("lengths", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("payload", models.BinaryField()),
            (
                "stream",
                models.ForeignKey(
                    db_constraint=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="client_runs",
                    to="records.stream",
                ),
            ),
        ],
    ),
]
