"""What views share: who may see a page, rendering from async views, and who changed what."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.admin.models import LogEntry
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

View = TypeVar("View", bound=Callable[..., Any])


class NotFoundHere(Http404):
    """A stream that is neither here nor in the record, while the other servers, which may run it, cannot be asked."""


def needs(*permissions: str) -> Callable[[View], View]:
    """Asks strangers to sign in, and refuses users who lack any of the permissions."""

    def decorate(view: View) -> View:
        decorated: View = login_required(permission_required(permissions, raise_exception=True)(view))
        return decorated

    return decorate


def signed_in_user(request: HttpRequest) -> User:
    """The user, in a view that requires signing in."""
    assert isinstance(request.user, User)
    return request.user


def is_part(request: HttpRequest) -> bool:
    """Whether a script asks, which puts the response into an open page."""
    return request.headers.get("HX-Request") == "true"


def number_in(asked: QueryDict, name: str) -> int | None:
    """The number that a URL or a form has under this name; None if it has none."""
    text = asked.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else None


def base_url(request: HttpRequest) -> str:
    """Where clients reach this server: at the address that this browser uses."""
    return request.build_absolute_uri(reverse("live")).rstrip("/")


def back_to(request: HttpRequest, page: str, id: UUID) -> HttpResponse:
    """Go back to the page of this URL name from which a form was sent, at the same place: forms send the page's query
    along."""
    return redirect(reverse(page, args=[id], query=request.GET))


async def render_page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """Render in a thread: the base template queries the database about the user."""
    return await sync_to_async(render)(request, template, context, status=status)


def note_change(request: HttpRequest, of: Model, what: int, words: str) -> None:
    """Log a change. The entry outlives what was changed, so it has only the id of that, and none of its content."""
    LogEntry.objects.create(
        user=signed_in_user(request),
        content_type=ContentType.objects.get_for_model(of),
        object_id=str(of.pk),
        object_repr=f"{of._meta.verbose_name} {of.pk}",
        action_flag=what,
        change_message=words,
    )
