"""Views of history that people save under a name."""

from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from streamviz.dashboard import roles
from streamviz.dashboard.forms import SavedViewForm, ViewNameForm, wrong_with
from streamviz.dashboard.pages import needs, signed_in_user
from streamviz.records.models import SavedView

MOST = 50
_KEPT = {"q", "range", "since", "until", "sort"}


@needs(roles.VIEW)
@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    """Save a page's filter and time span; a view that already has the name gets them instead."""
    form = SavedViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, wrong_with(form))
        return redirect("sessions")
    user, name = signed_in_user(request), form.cleaned_data["name"]
    if SavedView.objects.filter(user=user).exclude(name=name).count() >= MOST:
        messages.error(request, f"There are {MOST} views already; delete one first.")
        return redirect("sessions")
    query = urlencode([pair for pair in parse_qsl(form.cleaned_data["query"]) if pair[0] in _KEPT])
    values = {"page": form.cleaned_data["page"], "query": query}
    view, _ = SavedView.objects.update_or_create(user=user, name=name, defaults=values)
    return redirect(view.url)


@needs(roles.VIEW)
@require_POST
def rename_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """Rename one of the user's own views, unless another has the name."""
    view = get_object_or_404(SavedView, pk=view_id, user=signed_in_user(request))
    form = ViewNameForm(request.POST)
    if not form.is_valid():
        messages.error(request, wrong_with(form))
        return redirect(view.url)
    view.name = form.cleaned_data["name"]
    try:
        with transaction.atomic():
            view.save(update_fields=["name"])
    except IntegrityError:
        messages.error(request, "Another view has this name.")
    return redirect(view.url)


@needs(roles.VIEW)
@require_POST
def delete_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """Delete one of the user's own views, unless another tab has done so."""
    SavedView.objects.filter(pk=view_id, user=signed_in_user(request)).delete()
    return redirect("sessions")
