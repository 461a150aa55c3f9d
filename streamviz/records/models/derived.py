"""What the writer derives from streams and stores beside them: words of requests, broken rules, stalls."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from streamviz.records.models.streams import Stream


class RequestWords(models.Model):
    """The searchable words of a stream's request, namely what is new in it: see records/request_words.py. Deleted with
    the stream. `standing` is a digest of the system prompt, the tools and leading system turns."""

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
    """A rule of its format that a stream's upstream broke, first with the chunk `seq`; core/lint has the rules. Deleted
    with the stream, whose other values it copies so that notes can be counted without streams."""

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
    """How often, and for how long in total (µs), nothing moved in a stream for a second or longer, for one cause.
    Deleted with the stream."""

    class Cause(models.TextChoices):
        """Who kept the stream waiting."""

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
