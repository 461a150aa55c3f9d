"""What people keep for themselves."""

from django.conf import settings
from django.db import models
from django.urls import reverse


class SavedView(models.Model):
    """A page of history as somebody wants to see it again: its name in URLs, and the query behind it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=60)
    page = models.CharField(max_length=20)
    query = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="view_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return f"{reverse(self.page)}?{self.query}"
