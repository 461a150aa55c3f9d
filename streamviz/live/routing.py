"""The websockets' URLs, for signed-in users of our own pages alone."""

from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from channels.sessions import SessionMiddlewareStack
from django.urls import path, re_path

from streamviz.asgi_types import Message, Receive, Send
from streamviz.base_path import below
from streamviz.live.consumers import StreamConsumer, WallConsumer
from streamviz.live.origins import OwnOrigin

websocket_urlpatterns = [
    path("ws/live/", WallConsumer.as_asgi()),
    path("ws/streams/<uuid:stream_id>/", StreamConsumer.as_asgi()),
    re_path("", WebsocketDenier.as_asgi()),  # there is none elsewhere, which is no fault of ours to be logged
]

_router = URLRouter(websocket_urlpatterns)


async def _below_base(scope: Message, receive: Receive, send: Send) -> None:
    await _router({**scope, "path": below(scope["path"])}, receive, send)


# Whose the session is a consumer asks the database, once it has let the socket in.
websocket_application = OwnOrigin(SessionMiddlewareStack(_below_base))
