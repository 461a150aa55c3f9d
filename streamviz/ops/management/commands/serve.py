"""`python manage.py serve`: the HTTP and websocket server alone, or WORKERS of them on one port."""

import gc
import logging
import socket
import sys
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connections

from streamviz import descriptors, environment, figures
from streamviz.faults import Fault, end_with
from streamviz.ops import checks, database_checks, password_checks, workers
from streamviz.ops.command_line import SetByEnvironment

log = logging.getLogger(__name__)


class Command(SetByEnvironment):
    """Serve on HOST:PORT until SIGINT or SIGTERM; the database must be there and migrated."""

    help = "Serve on HOST:PORT. The database must exist and be migrated (`up` does that)."

    def handle(self, *args: Any, **options: Any) -> None:
        descriptors.raise_limit()
        if not settings.LISTENER:  # servers that share a port would each say it
            for line in environment.misspelt_beside():
                log.warning(line)
        try:
            checks.require_folder(settings.VAR_DIR)
            database_checks.require_database()
            password_checks.require_database_password_if_public()
            password_checks.require_password_if_public()
            connections.close_all()
            if settings.WORKERS > 1 and not settings.LISTENER:
                workers.run(settings.WORKERS)
            else:
                serve()
        except Fault as fault:
            end_with(fault)


def serve() -> None:
    """Run the server. Imported here, because that makes the event loop Twisted's and loads the application."""
    figures.share(settings.METRICS_DIR)  # before anything that counts is loaded
    gc.disable()  # what is imported stays, and scanning it repeatedly takes an eighth of the time
    from streamviz.serving.server import Limits, Server  # first: it chooses Twisted's reactor

    from streamviz.serving.asgi import application, screens  # isort: skip
    from streamviz.proxy import early
    from streamviz.proxy.worker import worker
    from streamviz.serving.listening import Listening, Sharing
    from streamviz.serving.sharing import Share

    gc.enable()
    # How long (s) the event loop waits, several times per chunk, while a thread has work: the default is 5 ms.
    sys.setswitchinterval(0.001)
    limits = Limits(settings.CLIENT_SILENCE_SECONDS, settings.TRUSTED_PROXIES)
    drain = partial(worker.running.drain, settings.STOP_GRACE_SECONDS)
    if settings.LISTENER:
        shared = socket.socket(fileno=int(settings.LISTENER))
        share = Share(int(settings.SHARES), settings.SERVER)
        server: Server = Sharing(application, shared, share, drain, screens.hand_over, limits)
    else:
        server = Listening(application, settings.HOST, settings.PORT, drain, screens.hand_over, limits)
    server.gate = partial(early.passage, worker)
    server.malformed, server.no_websocket = early.malformed, early.no_websocket
    server.run()
