"""Signing in and out."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from streamviz.dashboard import roles
from streamviz.dashboard.forms import SignInForm
from streamviz.dashboard.pages import is_part
from streamviz.dashboard.sign_in_links import user_for_link


class SignInView(LoginView):
    """Signing in with a password. 429 after too many attempts, with the time after which to try again."""

    template_name = "dashboard/sign_in.html"
    redirect_authenticated_user = True
    authentication_form = SignInForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """401 if somebody was signed out while a page was open, and a part of it is requested: the page is then
        reloaded, which leads here."""
        if is_part(request):
            return HttpResponse(status=401, headers={"HX-Refresh": "true"})
        return super().get(request, *args, **kwargs)

    def get_redirect_url(self) -> str:
        """Where `next` says, unless that is here: a signed-in user would be redirected forever."""
        wanted: str = super().get_redirect_url()
        return "" if urlsplit(wanted).path == self.request.path else wanted

    def get_default_redirect_url(self) -> str:
        """The first page that the user who has just signed in may see."""
        return reverse(_home_of(self.request))

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_invalid(form)
        assert isinstance(form, SignInForm)
        if form.refused_seconds:
            response.status_code = 429
            response.headers["Retry-After"] = str(form.refused_seconds)
        return response


sign_in = SignInView.as_view()


def _home_of(request: HttpRequest) -> str:
    # Live tells those who may see nothing what they can do about it.
    return roles.home_of(request.user) or "live"


@never_cache
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The admin has no sign-in of its own. Raises PermissionDenied for users who are signed in and may not enter it."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@transaction.atomic
def sign_in_link(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    """Sign in with a one-time link; users without a password are led to set one. Only its button uses the link up:
    programs that open links, such as those of mail and chats, do not."""
    user = user_for_link(uidb64, token)
    if user is None:
        messages.error(request, "This link has already been used or has expired. Sign in with your password.")
        return redirect("sign_in")
    if request.method != "POST":
        return render(request, "dashboard/sign_in_link.html", {"account": user.get_username()})
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return redirect(_home_of(request) if user.has_usable_password() else "account")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign the user out."""
    logout(request)
    return redirect("sign_in")
