"""Who changed what on a page, in the admin's log."""

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest

from streamviz.dashboard.pages import signed_in_user


def note_change(request: HttpRequest, of: Model, what: int, words: str) -> None:
    """It outlives what was changed: so that one's id alone, and nothing that it said."""
    LogEntry.objects.create(
        user=signed_in_user(request),
        content_type=ContentType.objects.get_for_model(of),
        object_id=str(of.pk),
        object_repr=f"{of._meta.verbose_name} {of.pk}",
        action_flag=what,
        change_message=words,
    )
