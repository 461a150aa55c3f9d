"""The ASGI application: what answers a request, according to its protocol and path."""

import asyncio
import os
from functools import partial
from typing import cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")

from asgiref.typing import HTTPScope
from channels.layers import get_channel_layer
from channels.routing import ProtocolTypeRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.db.backends.signals import connection_created

from streamviz.asgi_types import Message, Receive, Send
from streamviz.base_path import below

# Django must be set up before anything that has models is imported.
django_application = get_asgi_application()

from streamviz.api.asgi import PREFIX as API
from streamviz.api.asgi import application as api_application
from streamviz.live import answering
from streamviz.live.peers import Peers
from streamviz.live.publisher import publisher
from streamviz.live.routing import websocket_application
from streamviz.logs import about_stream
from streamviz.proxy.answers import helpers
from streamviz.proxy.asgi import application as proxy_application
from streamviz.proxy.questions import asked
from streamviz.proxy.recognising import is_the_proxys
from streamviz.proxy.worker import worker
from streamviz.records.database import wait_briefly
from streamviz.serving import health, members, metrics
from streamviz.serving.screens import Screens
from streamviz.vitals import Vitals

PROBES = ("/healthz", "/readyz")
screens = Screens(publisher)
vitals = Vitals("server")


async def http(scope: Message, receive: Receive, send: Send) -> None:
    """The proxy's endpoints, the API and the probes bypass all middleware; every other page is Django's."""
    about_stream("")  # a pipelined request is parsed in the context of the one before it
    path = below(scope["path"])
    if path in PROBES:
        await health.application(cast(HTTPScope, {**scope, "path": path}), send)
    elif path == "/metrics":
        await metrics.application(scope, send)
    elif path.startswith(API):
        await api_application(cast(HTTPScope, {**scope, "path": path}), receive, send)
    elif is_the_proxys(cast(HTTPScope, scope)):
        await proxy_application(scope, receive, send)
    else:
        await django_application({**scope, "path": f"{settings.BASE_PATH}{path}"}, receive, send)


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    """Called by the server once, around all requests."""
    await receive()
    connection_created.connect(wait_briefly)
    await worker.start()
    publisher.itself = partial(members.server, vitals, worker)
    answering.answer = partial(asked, helpers=helpers(worker, {}))
    peers = Peers(publisher, get_channel_layer(), are_workers=True) if settings.HAS_PEERS else None
    if peers:
        peers.on_denied, worker.denied_calls.tell_others = worker.denied_calls.take, peers.tell_denied
        await peers.start()
    watching = asyncio.create_task(vitals.watch(metrics.look), name="vitals")
    await send({"type": "lifespan.startup.complete"})
    await receive()
    watching.cancel()
    metrics.look()
    try:
        await screens.stop()
        if peers:
            await peers.stop()
        await worker.stop()
    finally:
        metrics.look()  # what the last streams came to
    await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter({"http": http, "websocket": websocket_application, "lifespan": lifespan})
