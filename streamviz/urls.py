"""The URLs that Django answers; /v1/ is answered by streamviz.proxy before Django sees it."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("streamviz.dashboard.urls")),
]
