"""`python manage.py serve`: the HTTP and websocket server alone."""

import gc
import sys
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from streamviz import descriptors
from streamviz.faults import Fault
from streamviz.ops import checks


class Command(BaseCommand):
    """Serve on HOST:PORT until SIGINT or SIGTERM; the database must be there and migrated."""

    help = "Serve on HOST:PORT. The database must exist and be migrated (`up` does that)."

    def handle(self, *args: Any, **options: Any) -> None:
        descriptors.raise_limit()
        try:
            checks.require_database()
            checks.require_password_if_public()
            connections.close_all()
            serve()
        except Fault as fault:
            sys.exit(f"streamviz: {fault}")


def serve() -> None:
    """Run the server. Imported here, as that makes the process's event loop Twisted's and loads the application."""
    gc.disable()  # what is imported stays, and looking through it again and again takes an eighth of the time
    from streamviz.serving.server import Limits, Listening  # first: Twisted's reactor depends on what is imported first

    from streamviz.serving.asgi import application, screens  # isort: skip
    from streamviz.proxy.early import passage
    from streamviz.proxy.worker import worker

    gc.enable()
    limits = Limits(settings.CLIENT_SILENCE_SECONDS, settings.TRUSTED_PROXIES)
    drain = partial(worker.drain, settings.STOP_GRACE_SECONDS)
    server = Listening(application, settings.HOST, settings.PORT, drain, screens.hand_over, limits)
    server.gate = partial(passage, worker)
    server.run()
