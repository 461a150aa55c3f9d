"""The ASGI application of the process that has the browsers' websockets."""

import asyncio
import gc
import socket
from collections.abc import Callable
from functools import partial

from channels.layers import get_channel_layer
from channels.routing import ProtocolTypeRouter
from django.conf import settings

from streamviz.asgi_types import Application, Message, Receive, Send
from streamviz.cores import give_way
from streamviz.live.link import Link
from streamviz.live.peers import Peers
from streamviz.live.publisher import SHARE_ALONE, publisher
from streamviz.live.routing import websocket_application
from streamviz.records.database import conninfo
from streamviz.records.moves import Move, follow
from streamviz.serving import members, metrics
from streamviz.vitals import Vitals

# When they share a processor, clients come before those who watch them.
NICENESS = 5


def application_for(end: socket.socket, stop: Callable[[], None]) -> Application:
    """`end` is the link to the server that started this process; `stop` is called when that server is gone."""

    async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        publisher.share = SHARE_ALONE
        vitals = Vitals("screens")
        publisher.itself = partial(members.screens, vitals)
        link = Link(end, "screens")
        await link.open()
        layer = get_channel_layer() if settings.HAS_PEERS else link
        peers = Peers(publisher, layer, are_workers=True, is_worker=False)
        peers.on_away = publisher.send_away
        await peers.start()
        listening = follow(conninfo, _pass_over, publisher.forget_session)
        watching = [_stop_without(link, stop), vitals.watch(metrics.look), listening]
        tasks = [asyncio.ensure_future(each) for each in watching]
        gc.collect()
        gc.freeze()  # everything loaded so far stays
        link.say_ready()
        give_way(NICENESS)  # not sooner: people are waiting for this process
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
        await peers.stop()
        link.close()
        await send({"type": "lifespan.shutdown.complete"})

    return ProtocolTypeRouter({"websocket": websocket_application, "lifespan": lifespan})


def _pass_over(move: Move) -> None:
    """Ignore the move: the worker that has the stream reports it."""


async def _stop_without(link: Link, stop: Callable[[], None]) -> None:
    await link.lost.wait()
    stop()
