"""The API keys: listing, issuing and revoking them."""

from collections.abc import Callable
from itertools import chain, count
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from streamviz.dashboard import roles
from streamviz.dashboard.forms import KeyForm
from streamviz.dashboard.pages import base_url, needs, signed_in_user
from streamviz.dashboard.setting_up import setting_up
from streamviz.dashboard.sorting import Sorting
from streamviz.records.models import ApiKey
from streamviz.records.models.policies import words

_TIMES = ("created",)
# Leaves room for a number in a key's name.
_LONGEST_OWNER = 90
_SORTED: dict[str, Callable[[ApiKey], Any]] = {
    "name": lambda key: key.name.lower(),
    "models": lambda key: key.models_scope,
    "created": lambda key: key.created_at,
    "by": lambda key: key.created_by and key.created_by.username,
    "state": lambda key: key.is_revoked,
}


@needs(roles.VIEW_KEYS)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def keys(request: HttpRequest) -> HttpResponse:
    """All keys. A POST issues one and shows its secret in what to paste, the only time that anybody sees it."""
    form, new = KeyForm(request.POST or None), {}
    if request.method == "POST":
        if not request.user.has_perm(roles.ISSUE_KEYS):
            raise PermissionDenied
        if form.is_valid():
            told = form.cleaned_data
            key, secret = ApiKey.objects.issue(
                told["name"], signed_in_user(request), told["models_scope"], told["default_provider"]
            )
            form, new = KeyForm(), setting_up(base_url(request), secret, words(key.models_scope))
    sorting = Sorting.asked(request.GET, {name: name in _TIMES for name in _SORTED})
    rows = sorting.of(ApiKey.objects.select_related("created_by"), _SORTED)
    context = {"page": "keys", "rows": rows, "form": form, "sorting": sorting, **new}
    return render(request, "dashboard/keys.html", context)


@needs(roles.ISSUE_KEYS)
@require_POST
@never_cache
def own_key(request: HttpRequest) -> HttpResponse:
    """Issue a key for the user and show it in the snippets for clients, the only time that anybody sees it."""
    user = signed_in_user(request)
    _, secret = ApiKey.objects.issue(_free_name(user.get_username()[:_LONGEST_OWNER]), by=user)
    return render(request, "dashboard/_setting_up.html", setting_up(base_url(request), secret))


def _free_name(owner: str) -> str:
    """A free name for another key of this user's."""
    taken = set(ApiKey.objects.filter(name__startswith=owner).values_list("name", flat=True))
    names = chain([owner], (f"{owner} {number}" for number in count(2)))
    return next(name for name in names if name not in taken)


@needs(roles.REVOKE_KEYS)
@require_POST
def revoke_key(request: HttpRequest, key_id: int) -> HttpResponse:
    """Revoke a key: from now on it opens nothing."""
    key = get_object_or_404(ApiKey, pk=key_id)
    key.revoke()
    messages.success(request, f"{key.name} was revoked.")
    return redirect("keys")
