"""The user's own account: its password, and the theme of this browser."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from streamviz.dashboard import roles, themes
from streamviz.dashboard.forms import OwnPasswordForm
from streamviz.dashboard.pages import signed_in_user


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Who is signed in, and a form for the password."""
    user = signed_in_user(request)
    form = _password_form(request, user)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, user)
        messages.success(request, "Password saved.")
        return redirect("account")
    themes_now = [(value, word, value == themes.chosen(request)) for value, word in themes.THEMES.items()]
    context = {"page": "account", "form": form, "role": roles.role_of(user), "themes": themes_now}
    status = 429 if getattr(form, "refused_seconds", 0) else 200
    return render(request, "dashboard/account.html", context, status=status)


def _password_form(request: HttpRequest, user: User) -> "OwnPasswordForm | SetPasswordForm[User]":
    data = request.POST or None
    if user.has_usable_password():
        return OwnPasswordForm(user, data, request.META.get("REMOTE_ADDR", ""))
    return SetPasswordForm(user, data)


@login_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Choose light, dark or the system's theme, for this browser."""
    response = redirect("account")
    themes.choose(response, request.POST.get("theme", ""))
    return response
