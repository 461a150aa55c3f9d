"""The websockets' URLs, for signed-in users of our own pages alone."""

import logging

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from django.db import DatabaseError
from django.urls import path, re_path

from streamviz.asgi_types import Message, Receive, Send
from streamviz.base_path import below
from streamviz.live.consumers import StreamConsumer, WallConsumer
from streamviz.live.origins import OwnOrigin
from streamviz.live.subscriber import TRY_AGAIN

log = logging.getLogger(__name__)

websocket_urlpatterns = [
    path("ws/live/", WallConsumer.as_asgi()),
    path("ws/streams/<uuid:stream_id>/", StreamConsumer.as_asgi()),
    re_path("", WebsocketDenier.as_asgi()),  # there is none elsewhere, which is no fault of ours to be logged
]

_router = URLRouter(websocket_urlpatterns)


async def _below_base(scope: Message, receive: Receive, send: Send) -> None:
    await _router({**scope, "path": below(scope["path"])}, receive, send)


_signed_in = AuthMiddlewareStack(_below_base)


async def _while_the_database_answers(scope: Message, receive: Receive, send: Send) -> None:
    """Who a browser is, the database knows; while it is away they come back, and all of them would leave a
    traceback."""
    try:
        await _signed_in(scope, receive, send)
    except DatabaseError as error:
        log.warning("cannot tell who opens a websocket: %s", error)
        await send({"type": "websocket.close", "code": TRY_AGAIN})


websocket_application = OwnOrigin(_while_the_database_answers)
