"""Sessions: what streams that belong together have in common."""

from django.db import models
from django.db.models.functions import Left

from streamviz.records.ids import ALL, Span, between, uuid7
from streamviz.records.models.access import ApiKey


class Session(models.Model):
    """Streams that belong together: one conversation or agent run. `label` says what it is about, in its user's words;
    `name` is what its client calls it, usually an id. Either may be empty."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    label = models.TextField(blank=True)
    name = models.TextField(default="", blank=True)
    key = models.ForeignKey(ApiKey, null=True, on_delete=models.SET_NULL, related_name="sessions")
    started_at = models.DateTimeField()
    last_at = models.DateTimeField()
    is_starred = models.BooleanField(default=False)
    note = models.TextField(blank=True)
    # Sessions stored by a writer that does not know this column are dated, so that is the database's default; other
    # code that creates one has to say so.
    is_dated = models.BooleanField(
        default=False,
        db_default=True,
        help_text="Its streams' ids begin with their requests' time: those of other days are not searched.",
    )

    class Meta:
        ordering = ["-last_at", "-id"]
        indexes = [
            models.Index(fields=["-last_at", "-id"], name="session_newest"),
            # Either may be too long for an index, and be the same, or empty, in very many rows: to add one more, a hash
            # index would go through all of those.
            models.Index(Left("label", 100), condition=~models.Q(label=""), name="session_of_label"),
            models.Index(Left("name", 100), condition=~models.Q(name=""), name="session_of_name"),
            models.Index(fields=["id"], condition=models.Q(is_starred=True), name="session_starred"),
            models.Index(fields=["id"], condition=models.Q(is_dated=False), name="session_undated"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """The session's name on pages."""
        return self.label or self.name or str(self.id)

    @property
    def known_as(self) -> str:
        """The id by which the client knows the session; ours if it sent none."""
        return self.name or str(self.id)

    @property
    def span(self) -> Span:
        """The range of ids that those of its streams are in."""
        return between(self.started_at, self.last_at) if self.is_dated else ALL
