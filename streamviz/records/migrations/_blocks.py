"""What belongs to a stream, in partitions: its blocks and verdicts, the words of its request, and what was noted of it.

Nothing refers to a stream in the database: what is dropped whole cannot be asked who refers to it.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from streamviz.records.migrations import _indexes
from streamviz.records.migrations._partitions import CreatePartitioned


def _key(*fields):
    return models.CompositePrimaryKey(*fields, blank=True, editable=False, primary_key=True, serialize=False)


TABLES = [
    CreatePartitioned(
        key="stream_id",
        name="Block",
        fields=[
            ("pk", _key("stream_id", "ordinal")),
            ("ordinal", models.PositiveIntegerField()),
            (
                "kind",
                models.CharField(
                    choices=[
                        ("content", "content"),
                        ("thinking", "thinking"),
                        ("tool_call", "tool_call"),
                        ("refusal", "refusal"),
                        ("media", "media"),
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
                    db_constraint=False,
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="blocks",
                    to="records.stream",
                ),
            ),
        ],
        options={"ordering": ["ordinal"]},
    ),
    CreatePartitioned(
        key="stream_id",
        name="Verdict",
        fields=[
            ("pk", _key("stream_id", "number")),
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
                    db_constraint=False,
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="verdicts",
                    to="records.policyversion",
                ),
            ),
            (
                "stream",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="verdicts",
                    to="records.stream",
                ),
            ),
        ],
        options={"ordering": ["number"]},
    ),
    CreatePartitioned(
        key="stream_id",
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
    CreatePartitioned(
        key="stream_id",
        name="LintNote",
        fields=[
            ("pk", _key("stream_id", "rule")),
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
    CreatePartitioned(
        key="stream_id",
        name="Stall",
        fields=[
            ("pk", _key("stream_id", "cause")),
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
]

# The key of each is a unique constraint, as it was when they had ids.
KEYS = [
    migrations.RunSQL(
        """
        ALTER TABLE records_block DROP CONSTRAINT records_block_pkey;
        ALTER TABLE records_verdict DROP CONSTRAINT records_verdict_pkey;
        """
    ),
    migrations.AddConstraint("block", models.UniqueConstraint(fields=("stream", "ordinal"), name="block_ordinal")),
    migrations.AddConstraint("verdict", models.UniqueConstraint(fields=("stream", "number"), name="verdict_number")),
]

INDEXES = [
    migrations.AddIndex(
        "block", models.Index(fields=["held_at"], condition=Q(held_at__isnull=False), name="block_held")
    ),
    migrations.AddIndex(
        "block", models.Index(fields=["name", "stream"], condition=Q(kind="tool_call"), name="block_of_tool")
    ),
    migrations.AddIndex("verdict", models.Index(fields=["at"], name="verdict_at")),
    migrations.AddIndex("verdict", models.Index(fields=["policy_version", "-at"], name="verdict_newest")),
    migrations.AddIndex(
        "verdict",
        models.Index(
            fields=["stream"],
            condition=Q(mode="enforce") & ~Q(decision="allow"),
            name="verdict_that_intervened",
        ),
    ),
]

# Figures of very many verdicts and holds are estimated from those of one stream in four, or fewer of those.
_BYTE = "get_byte(uuid_send(stream_id), 15)"
VERDICT_SAMPLE = ("verdict_sample", "records_verdict", f"(({_BYTE}), at) WHERE {_BYTE} < 64")
HELD_SAMPLE = (
    "held_sample",
    "records_block",
    f"(({_BYTE}), held_at) WHERE held_at IS NOT NULL AND {_BYTE} < 64",
)
LATER_INDEXES = [_indexes.create(*VERDICT_SAMPLE), _indexes.create(*HELD_SAMPLE)]
