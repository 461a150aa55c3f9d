"""`python manage.py screens`: the browsers' websockets of one server, which starts this process itself."""

import gc
import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from streamviz import descriptors, figures


class Command(BaseCommand):
    """Serve the websockets that a server hands over, until that server is gone."""

    help = "Serve the websockets that a server hands over. `serve` starts this itself."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("link", type=int, help="descriptor of a socket for messages about streams")
        parser.add_argument("connections", type=int, help="descriptor of a socket for connections and their requests")

    def handle(self, *args: Any, **options: Any) -> None:
        descriptors.raise_limit()
        figures.share(settings.METRICS_DIR)
        gc.disable()  # as in `serve`
        from streamviz.serving.event_loop import reactor
        from streamviz.serving.handover import Adopter  # first: Twisted's reactor depends on the import order
        from streamviz.serving.server import Limits
        from streamviz.serving.screens_asgi import application_for  # isort: skip

        gc.enable()
        link, connections = (socket.socket(fileno=options[name]) for name in ("link", "connections"))
        connections.setblocking(False)
        # The server may be gone before this process has started to run.
        application = application_for(link, lambda: reactor.callWhenRunning(server.stop))
        server = Adopter(application, connections, Limits(settings.CLIENT_SILENCE_SECONDS, settings.TRUSTED_PROXIES))
        server.run()
