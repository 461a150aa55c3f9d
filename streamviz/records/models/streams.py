"""Streams and what they consist of.

Text here comes from models and clients: a NUL, which Postgres cannot store in text, is stored as U+FFFD. What must be
kept byte for byte (requests, chunks, frames) is bytea.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone

from streamviz.core.events import BlockKind
from streamviz.core.judgements import Subject
from streamviz.core.outcome import Outcome
from streamviz.core.verdicts import Decision
from streamviz.records.models.access import ApiKey
from streamviz.records.models.policies import MODES, PolicyVersion
from streamviz.records.models.sessions import Session

# Why most answers end, in the wire formats' own words. Streams that end otherwise have an index.
USUAL_ENDS = ("", "stop", "end_turn", "tool_calls", "tool_use", "completed", "STOP")
OUTCOMES = [(each.value, each.name.replace("_", " ").title()) for each in Outcome]


class Relation(models.TextChoices):
    """How a stream continues its parent: with its answer, as a retry, beside another stream that already continues it,
    as another agent that it called, or as a call that an executor made for its answer."""

    TURN = "turn"
    RETRY = "retry"
    FORK = "fork"
    SUBAGENT = "subagent"
    STEP = "step"


class Stream(models.Model):
    """One proxied model call and its response. `outcome` is empty while it runs; None is unknown, never 0.

    Partitioned by the time in its id, like everything that belongs to it: see records/partitions.py. No foreign key in
    the database refers to it, so that a partition can be dropped; records/deletion.py and dropping.py delete what
    belongs to it.
    """

    id = models.UUIDField(primary_key=True)
    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, related_name="streams", db_index=False, db_constraint=False
    )
    key = models.ForeignKey(
        ApiKey, null=True, on_delete=models.SET_NULL, related_name="streams", db_index=False, db_constraint=False
    )
    client = models.TextField(blank=True)
    user_agent = models.TextField(blank=True)
    endpoint = models.CharField(max_length=100)
    wire_format = models.CharField(max_length=30)
    is_streaming = models.BooleanField()
    requested_model = models.TextField()
    upstream_model = models.TextField(blank=True)
    provider = models.CharField(max_length=100, blank=True)
    request = models.BinaryField()
    worker = models.UUIDField(null=True, help_text="Whose journal it was recorded in.")

    outcome = models.CharField(max_length=20, choices=OUTCOMES, blank=True)
    finish_reason = models.TextField(blank=True)
    status = models.PositiveSmallIntegerField(null=True)
    error = models.TextField(blank=True)
    usage = models.JSONField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    chunk_count = models.PositiveIntegerField(default=0)
    frame_count = models.PositiveIntegerField(default=0)
    block_count = models.PositiveIntegerField(default=0)

    requested_at = models.DateTimeField()
    upstream_first_at = models.DateTimeField(null=True)
    client_first_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    itl_p50_us = models.BigIntegerField(null=True)
    itl_p95_us = models.BigIntegerField(null=True)
    not_run = models.JSONField(default=list, help_text="The policies that did not judge it, and why.")
    client_waits = models.JSONField(
        null=True, help_text="From when to when its client did not take what it was sent, in µs since the epoch."
    )
    cache_read_tokens = models.BigIntegerField(null=True, help_text="Of its input tokens.")
    cache_written_tokens = models.BigIntegerField(null=True, help_text="Of its input tokens.")
    reasoning_tokens = models.BigIntegerField(null=True, help_text="Of its output tokens.")
    is_estimated = models.BooleanField(
        default=False, help_text="Its provider reported no token counts; these are estimates."
    )
    hides_usage = models.BooleanField(
        default=False, help_text="Its client did not ask for usage: it got upstream's chunks without `usage: null`."
    )

    parent = models.UUIDField(null=True, help_text="The stream that it continues.")
    relation = models.CharField(max_length=10, choices=Relation.choices, blank=True)
    is_named = models.BooleanField(default=False, help_text="Whether its client named the session.")
    asked = ArrayField(models.BigIntegerField(), default=list, help_text="The marks that its parent would have.")
    marks = ArrayField(
        models.BigIntegerField(), default=list, help_text="The marks by which later streams recognise it."
    )
    left_out = models.TextField(
        default="",
        blank=True,
        help_text="What of its request its provider could not take, or of its answer the client's format.",
    )
    request_headers = models.JSONField(
        default=dict, blank=True, help_text="Those of its request's headers that are kept."
    )
    executor = models.TextField(
        default="", db_default="", blank=True, help_text="What answered it with calls of its own, which makes it a run."
    )
    part = models.TextField(default="", db_default="", blank=True, help_text="What a call of a run was for.")

    other_names = ArrayField(
        models.TextField(),
        default=list,
        db_default=[],
        blank=True,
        help_text="Names of its model that neither its client nor its provider uses.",
    )

    class Meta:
        ordering = ["-requested_at", "-id"]
        indexes = [
            # Includes the columns that are counted and filtered by, so that many streams can be read from this index
            # alone.
            models.Index(
                fields=["-requested_at", "-id"],
                include=[
                    *("outcome", "requested_model", "provider", "key", "session"),
                    *("input_tokens", "output_tokens", "cost", "ended_at", "cache_read_tokens", "is_estimated"),
                ],
                name="stream_newest",
            ),
            models.Index(fields=["session", "requested_at"], name="stream_in_session"),
            models.Index(fields=["requested_at"], condition=models.Q(outcome=""), name="stream_open"),
            models.Index(fields=["requested_model", "-requested_at", "-id"], name="stream_of_model"),
            models.Index(fields=["key", "-requested_at", "-id"], name="stream_of_key"),
            models.Index(
                fields=["outcome", "-requested_at", "-id"],
                condition=~models.Q(outcome="completed"),
                name="stream_that_failed",
            ),
            models.Index(fields=["requested_at"], condition=~models.Q(not_run=[]), name="stream_not_run"),
            models.Index(
                fields=["-requested_at", "-id"],  # the reason itself may be too long for an index
                condition=~models.Q(finish_reason__in=USUAL_ENDS),
                name="stream_unusual_end",
            ),
            models.Index(fields=["cost", "requested_at"], condition=models.Q(cost__gte=0.05), name="stream_costly"),
            models.Index(fields=["parent"], condition=models.Q(parent__isnull=False), name="stream_of_parent"),
            GinIndex(fields=["marks"], fastupdate=False, condition=~models.Q(marks=[]), name="stream_by_mark"),
            GinIndex(fields=["asked"], fastupdate=False, condition=~models.Q(asked=[]), name="stream_asking"),
        ]

    # Whether everything that belongs to it, including its tapes, was read with it; not a column.
    is_read = False

    def __str__(self) -> str:
        return str(self.id)


class Block(models.Model):
    """A block of a stream. `text` holds the arguments of a tool call, or the payload of a `media` or an `other`
    block."""

    pk = models.CompositePrimaryKey("stream_id", "ordinal")
    stream = models.ForeignKey(
        Stream, on_delete=models.CASCADE, related_name="blocks", db_index=False, db_constraint=False
    )
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=[(kind.value, kind.value) for kind in BlockKind])
    choice = models.PositiveIntegerField(default=0)
    index = models.PositiveIntegerField(null=True)
    upstream_id = models.TextField(blank=True)
    name = models.TextField(blank=True)
    label = models.TextField(blank=True)
    text = models.TextField(blank=True)
    length = models.PositiveIntegerField(default=0, help_text="In characters, whether the text is kept or not.")
    signature = models.TextField(blank=True)
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    held_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)
    held_by = ArrayField(models.TextField(), default=list)
    is_truncated = models.BooleanField(default=False)

    class Meta:
        ordering = ["ordinal"]
        constraints = [models.UniqueConstraint(fields=["stream", "ordinal"], name="block_ordinal")]
        indexes = [
            models.Index(fields=["held_at"], condition=models.Q(held_at__isnull=False), name="block_held"),
            models.Index(fields=["name", "stream"], condition=models.Q(kind="tool_call"), name="block_of_tool"),
        ]


class Verdict(models.Model):
    """What a policy decided about a block, or about the request or the stream as a whole (then `ordinal` is null).

    `number` is its place among the stream's verdicts. `evidence` says what was found and where, never the content
    itself. `by` names the person who decided by hand; `client_had` is how many characters of the block the client
    already had.
    """

    pk = models.CompositePrimaryKey("stream_id", "number")
    stream = models.ForeignKey(
        Stream, on_delete=models.CASCADE, related_name="verdicts", db_index=False, db_constraint=False
    )
    number = models.PositiveIntegerField()
    subject = models.CharField(max_length=10, choices=[(each.value, each.value) for each in Subject], default="block")
    ordinal = models.PositiveIntegerField(null=True, help_text="The block's.")
    policy_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="verdicts", db_index=False, db_constraint=False
    )
    mode = models.CharField(max_length=10, choices=MODES)
    decision = models.CharField(max_length=10, choices=[(decision.value, decision.value) for decision in Decision])
    reason = models.TextField(blank=True)
    failure = models.TextField(blank=True)
    at = models.DateTimeField()
    took_us = models.BigIntegerField()
    evidence = models.JSONField(default=dict)
    by = models.TextField(blank=True)
    client_had = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["stream", "number"], name="verdict_number")]
        indexes = [
            models.Index(fields=["policy_version", "-at"], name="verdict_newest"),
            models.Index(
                fields=["stream"],
                condition=models.Q(mode="enforce") & ~models.Q(decision="allow"),
                name="verdict_that_intervened",
            ),
            models.Index(fields=["at"], name="verdict_at"),
        ]


class DeletedStream(models.Model):
    """A stream that was deleted: what a journal still has of it is not stored again."""

    stream_id = models.UUIDField(primary_key=True)
    deleted_at = models.DateTimeField(default=timezone.now)


class DeletedSession(models.Model):
    """A session that was deleted: what a journal still has of streams requested before that is not stored."""

    session_id = models.UUIDField(primary_key=True)
    deleted_at = models.DateTimeField(default=timezone.now)
