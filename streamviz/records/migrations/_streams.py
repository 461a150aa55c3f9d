"""Sessions, and their streams in partitions."""

import django.db.models.deletion
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Left

import streamviz.records.ids
from streamviz.records.migrations import _indexes
from streamviz.records.migrations._partitions import CreatePartitioned

SESSIONS = [
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
            ("name", models.TextField(default="", blank=True)),
            (
                "is_dated",
                models.BooleanField(
                    db_default=True,
                    default=False,
                    help_text="Its streams' ids begin with their requests' time: those of other days are not searched.",
                ),
            ),
        ],
        options={
            "ordering": ["-last_at", "-id"],
            "indexes": [
                models.Index(fields=["-last_at", "-id"], name="session_newest"),
                models.Index(fields=["id"], condition=Q(is_starred=True), name="session_starred"),
                models.Index(Left("label", 100), condition=~Q(label=""), name="session_of_label"),
                models.Index(Left("name", 100), condition=~Q(name=""), name="session_of_name"),
                models.Index(fields=["id"], condition=Q(is_dated=False), name="session_undated"),
            ],
        },
    ),
]


def _marks(meaning):
    return ArrayField(base_field=models.BigIntegerField(), default=list, help_text=meaning, size=None)


STREAMS = [
    CreatePartitioned(
        key="id",
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
                    db_constraint=False,
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
                    db_constraint=False,
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="streams",
                    to="records.session",
                ),
            ),
            ("cache_read_tokens", models.BigIntegerField(null=True, help_text="Of its input tokens.")),
            ("cache_written_tokens", models.BigIntegerField(null=True, help_text="Of its input tokens.")),
            ("reasoning_tokens", models.BigIntegerField(null=True, help_text="Of its output tokens.")),
            (
                "is_estimated",
                models.BooleanField(
                    default=False, help_text="Its provider reported no token counts; these are estimates."
                ),
            ),
            (
                "hides_usage",
                models.BooleanField(
                    default=False,
                    help_text="Its client did not ask for usage: it got upstream's chunks without `usage: null`.",
                ),
            ),
            ("asked", _marks("The marks that its parent would have.")),
            (
                "is_named",
                models.BooleanField(default=False, help_text="Whether its client named the session."),
            ),
            ("marks", _marks("The marks by which later streams recognise it.")),
            ("parent", models.UUIDField(help_text="The stream that it continues.", null=True)),
            (
                "relation",
                models.CharField(
                    blank=True,
                    choices=[
                        ("turn", "Turn"),
                        ("retry", "Retry"),
                        ("fork", "Fork"),
                        ("subagent", "Subagent"),
                        ("step", "Step"),
                    ],
                    max_length=10,
                ),
            ),
            (
                "left_out",
                models.TextField(
                    blank=True,
                    default="",
                    help_text="What of its request its provider could not take, or of its answer the client's format.",
                ),
            ),
            (
                "request_headers",
                models.JSONField(blank=True, default=dict, help_text="Those of its request's headers that are kept."),
            ),
            (
                "executor",
                models.TextField(
                    blank=True,
                    db_default="",
                    default="",
                    help_text="What answered it with calls of its own, which makes it a run.",
                ),
            ),
            (
                "part",
                models.TextField(blank=True, db_default="", default="", help_text="What a call of a run was for."),
            ),
        ],
        options={"ordering": ["-requested_at", "-id"]},
    ),
]

# Requests lie beside the rows, which are read far more often than those; a Postgres without lz4 compresses with its own
# method.
STORAGE = """
ALTER TABLE records_stream_default SET (toast_tuple_target = 512, fillfactor = 90);
DO $$
BEGIN
    ALTER TABLE records_stream ALTER COLUMN request SET COMPRESSION lz4;
    ALTER TABLE records_stream_default ALTER COLUMN request SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
"""

# In this order: the names of their parts depend on it.
INDEXES = [
    migrations.AddIndex("stream", each)
    for each in (
        GinIndex(fields=["asked"], fastupdate=False, condition=~Q(asked=[]), name="stream_asking"),
        GinIndex(fields=["marks"], fastupdate=False, condition=~Q(marks=[]), name="stream_by_mark"),
        models.Index(fields=["session", "requested_at"], name="stream_in_session"),
        models.Index(
            fields=["-requested_at", "-id"],
            include=[
                *("outcome", "requested_model", "provider", "key", "session"),
                *("input_tokens", "output_tokens", "cost", "ended_at", "cache_read_tokens", "is_estimated"),
            ],
            name="stream_newest",
        ),
        models.Index(fields=["requested_at"], condition=~Q(not_run=[]), name="stream_not_run"),
        models.Index(fields=["key", "-requested_at", "-id"], name="stream_of_key"),
        models.Index(fields=["requested_model", "-requested_at", "-id"], name="stream_of_model"),
        models.Index(fields=["parent"], condition=Q(parent__isnull=False), name="stream_of_parent"),
        models.Index(fields=["requested_at"], condition=Q(outcome=""), name="stream_open"),
        models.Index(
            fields=["outcome", "-requested_at", "-id"],
            condition=~Q(outcome="completed"),
            name="stream_that_failed",
        ),
    )
]

# Figures of many streams are estimated from those of one in 16, or of one in 256, which their ids say. All that is
# counted and filtered by is beside them: a sample is read from its index alone.
_ALL = """(requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
)"""
SAMPLED = ("stream_sampled", "records_stream", f"{_ALL} WHERE get_byte(uuid_send(id), 15) < 16")
SAMPLED_LESS = ("stream_sampled_less", "records_stream", f"{_ALL} WHERE get_byte(uuid_send(id), 15) < 1")
# Streams that cost much are found by what they cost, those that ended in an unusual way by that.
COSTLY = ("stream_costly", "records_stream", "(cost, requested_at) WHERE cost >= 0.05")
_USUAL = ("", "stop", "end_turn", "tool_calls", "tool_use", "completed", "STOP")
UNUSUAL_END = (
    "stream_unusual_end",
    "records_stream",
    f"(requested_at DESC, id DESC) WHERE NOT finish_reason IN {_USUAL}",
)
LATER_INDEXES = [
    _indexes.create(*SAMPLED),
    _indexes.create(*SAMPLED_LESS),
    migrations.SeparateDatabaseAndState(
        [_indexes.create(*COSTLY), _indexes.create(*UNUSUAL_END)],
        [
            migrations.AddIndex(
                "stream",
                models.Index(fields=["cost", "requested_at"], condition=Q(cost__gte=0.05), name="stream_costly"),
            ),
            migrations.AddIndex(
                "stream",
                models.Index(
                    fields=["-requested_at", "-id"],
                    condition=~Q(finish_reason__in=_USUAL),
                    name="stream_unusual_end",
                ),
            ),
        ],
    ),
]
