"""What the writer finds in streams and keeps beside them: words of requests, rules that were broken, stalls."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from streamviz.records.models.streams import Stream


class RequestWords(models.Model):
    """The words of a stream's request, for searches: what is new in it, see records/request_words.py. It goes with the
    stream. `standing` is a digest of what stands over the conversation."""

    stream = models.OneToOneField(
        Stream, on_delete=models.DO_NOTHING, primary_key=True, related_name="request_words", db_constraint=False
    )
    session_id = models.UUIDField()
    standing = models.BigIntegerField()
    search = SearchVectorField()

    class Meta:
        indexes = [
            models.Index(fields=["session_id", "standing"], name="request_words_of_session"),
            GinIndex(fields=["search"], name="request_words_search"),
        ]


class LintNote(models.Model):
    """A rule of its format that a stream's upstream broke, first with the chunk `seq`; core/lint has the rules. It goes
    with the stream; the rest is the stream's, so that notes can be counted by themselves."""

    pk = models.CompositePrimaryKey("stream_id", "rule")
    stream = models.ForeignKey(
        Stream, on_delete=models.DO_NOTHING, related_name="lint_notes", db_constraint=False, db_index=False
    )
    rule = models.CharField(max_length=40)
    seq = models.PositiveIntegerField(help_text="The first chunk that broke it.")
    times = models.PositiveIntegerField()
    at = models.DateTimeField(help_text="When the stream was requested.")
    provider = models.CharField(max_length=100, blank=True)
    model = models.TextField(help_text="The model that was asked for.")

    class Meta:
        indexes = [models.Index(fields=["at"], include=["provider", "model", "rule", "times"], name="lint_note_at")]


class Stall(models.Model):
    """How often, and how long in all (µs), nothing moved in a stream for a second or longer, for one cause. It goes
    with the stream."""

    class Cause(models.TextChoices):
        """Who kept it waiting."""

        UPSTREAM = "upstream"
        HELD = "held"
        CLIENT = "client"

    pk = models.CompositePrimaryKey("stream_id", "cause")
    stream = models.ForeignKey(
        Stream, on_delete=models.DO_NOTHING, related_name="stalls", db_constraint=False, db_index=False
    )
    cause = models.CharField(max_length=10, choices=Cause.choices)
    times = models.PositiveIntegerField()
    lasted_us = models.BigIntegerField()
    at = models.DateTimeField(help_text="When the stream was requested.")

    class Meta:
        indexes = [models.Index(fields=["at"], include=["cause", "times", "stream"], name="stall_at")]
