"""What views share: who may see a page, rendering from an async view, and who changed what."""

from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.contrib.admin.models import LogEntry
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

View = TypeVar("View", bound=Callable[..., Any])


class NotFoundHere(Http404):
    """A stream that is neither here nor in the record, while the other servers, which may run it, cannot be asked."""


def needs(*permissions: str) -> Callable[[View], View]:
    """Strangers are asked to sign in, others without all of the permissions are refused."""

    def decorate(view: View) -> View:
        decorated: View = login_required(permission_required(permissions, raise_exception=True)(view))
        return decorated

    return decorate


def signed_in_user(request: HttpRequest) -> User:
    """Who asks, in a view that strangers do not reach."""
    assert isinstance(request.user, User)
    return request.user


def is_part(request: HttpRequest) -> bool:
    """Whether a script asks, which puts the answer into a page that is open."""
    return request.headers.get("HX-Request") == "true"


def base_url(request: HttpRequest) -> str:
    """Where clients reach this server, as this browser does."""
    return request.build_absolute_uri(reverse("live")).rstrip("/")


async def render_page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """Render in a thread: the frame of a page asks the database about the user."""
    return await sync_to_async(render)(request, template, context, status=status)


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
