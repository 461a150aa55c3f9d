"""The URLs that Django answers; those of the proxy, the API and the probes never reach it (serving/asgi.py)."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from streamviz.dashboard.views import errors, signing_in

urlpatterns = [
    path("admin/login/", signing_in.admin_sign_in),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account")),
    path("admin/", admin.site.urls),
    path("", include("streamviz.dashboard.urls")),
]

# Django looks for these only here.
handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
