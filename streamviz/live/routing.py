"""The websockets' URLs, only for signed-in users of our own pages."""

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
    re_path("", WebsocketDenier.as_asgi()),  # no others: deny them without logging an error
]

_router = URLRouter(websocket_urlpatterns)


async def _below_base(scope: Message, receive: Receive, send: Send) -> None:
    await _router({**scope, "path": below(scope["path"])}, receive, send)


# Consumers look up the session's user in the database, once they have accepted the socket.
websocket_application = OwnOrigin(SessionMiddlewareStack(_below_base))
