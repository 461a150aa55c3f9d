"""The websockets' URLs, for signed-in users of our own pages alone."""

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import path

from streamviz.live.consumers import StreamConsumer, WallConsumer

websocket_urlpatterns = [
    path("ws/live/", WallConsumer.as_asgi()),
    path("ws/streams/<uuid:stream_id>/", StreamConsumer.as_asgi()),
]

websocket_application = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))
