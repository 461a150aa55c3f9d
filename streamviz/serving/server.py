"""The HTTP and websocket server: Daphne, run in code, with what a server of long streams needs besides.

Daphne's own `send` never waits, so what a slow reader is sent would be buffered without limit; here `send` waits until
the client's socket has room. The server also speaks ASGI's lifespan protocol, so that the application can start what it
needs before the first request and finish its work after the last. Data goes to the socket at once, not in the event
loop's next round.
"""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Daphne)

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server as DaphneServer
from twisted.internet import defer
from twisted.logger import STDLibLogObserver, globalLogBeginner

from streamviz.asgi_types import LEFT, Application
from streamviz.faults import Fault
from streamviz.serving import access
from streamviz.serving.connections import Brake, Timer
from streamviz.serving.forwarding import Networks, forwarded
from streamviz.serving.gate import Gate, Headers, Malformed, NoWebsocket, refuse_malformed
from streamviz.serving.kept import KeptByProxies
from streamviz.serving.lifespan import Lifespan
from streamviz.serving.request import APPLICATION_CLOSE_SECONDS, SERVER_NAME, Request
from streamviz.serving.websockets import factory_for

logger = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 75  # how long an idle connection is kept for the client's next request
WEBSOCKET_CLOSE_SECONDS = 5  # how long a browser gets to confirm that its websocket is closed, before it is dropped
BACKLOG = 512

MayCome = Callable[[], bool]
Drain = Callable[[MayCome], Awaitable[None]]
HandOver = Callable[[int, bytes], bool]


class Limits(NamedTuple):
    """How long a client may take nothing of what it is sent (s), the proxies that are trusted to say who a client is,
    and how long the application gets (s) to end its requests, and then its own work, when the server stops."""

    silence_seconds: float = 120.0
    proxies: Networks = ()
    last_seconds: float = 10.0


class Factory(HTTPFactory):
    """Makes the connections' protocols."""

    def __init__(self, server: "Server") -> None:
        super().__init__(server)
        self.timeOut = KEEP_ALIVE_SECONDS

    def buildProtocol(self, address: Any) -> Any:
        """Make one connection's protocol, which makes requests of our class."""
        protocol = super().buildProtocol(address)
        protocol.requestFactory = Request
        protocol.callLater = Timer
        self.server.kept.add(protocol, address)
        refuse_malformed(protocol._channel, self.server.malformed)
        return protocol

    def log(self, request: Any) -> None:
        """Log nothing: URLs can contain tokens. See serving/access.py."""


class Server(DaphneServer, ABC):
    """Serves one ASGI application until SIGINT or SIGTERM."""

    def __init__(
        self,
        application: Application,
        drain: Drain | None = None,
        hand_over: HandOver | None = None,
        limits: Limits = Limits(),  # noqa: B008 - it never changes
    ) -> None:
        """`drain` is awaited when the server is to stop, before requests that still run are cancelled; its argument
        tells whether a proxy may have a request on its way on an open connection. `hand_over` gives a websocket's
        connection, as a descriptor and a request, to another process; it returns False if it cannot."""
        super().__init__(
            application,
            endpoints=["ours"],  # Daphne complains if there are none, and uses them only in its own `run`
            application_close_timeout=APPLICATION_CLOSE_SECONDS,
        )
        self.hand_over = hand_over
        self.limits = limits
        self.gate: Gate | None = None
        self.malformed: Malformed = _malformed
        self.no_websocket: NoWebsocket = lambda target, headers: None
        self._is_stopping = False
        self.connections: dict[Any, dict[str, Any]] = {}
        self._brakes: dict[Any, Brake] = {}
        self.kept = KeptByProxies(limits.proxies)
        self._lifespan = Lifespan(application)
        self._drain = drain

    def run(self) -> None:
        """Start the application, accept connections, serve, stop the application. Raises Fault if it cannot start."""
        observers: list[Any] = [STDLibLogObserver("twisted")]
        globalLogBeginner.beginLoggingTo(observers, redirectStandardIO=False, discardBuffer=True)
        loop = reactor._asyncioEventloop
        asyncio.set_event_loop(loop)
        self.http_factory = Factory(self)
        self.ws_factory = factory_for(self, SERVER_NAME.decode(), WEBSOCKET_CLOSE_SECONDS)
        loop.run_until_complete(self._lifespan.startup())
        try:
            close = self._open()
        except Fault:
            loop.run_until_complete(self._lifespan.shutdown())
            raise
        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        reactor.addSystemEventTrigger("before", "shutdown", self._shut_down, close)
        reactor.run()

    @abstractmethod
    def _open(self) -> Callable[[], object]:
        """Begin to accept connections, and return a function that ends that. Raises Fault if it cannot."""

    def client_of(self, peer: str, headers: Headers) -> str:
        """The address of the client that sent a request with these headers over a connection from `peer`."""
        scope = {"type": "http", "client": [peer, 0], "headers": headers}
        return str(forwarded(scope, self.limits.proxies)["client"][0])

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Called for each request and, by Daphne, for each websocket. Trusted proxies say whom they speak for."""
        scope = forwarded(scope, self.limits.proxies)
        if isinstance(protocol, Request):
            protocol.client_addr = scope["client"]
            scope["extensions"] = {LEFT: protocol.left}
        inbox = super().create_application(protocol, scope)
        running = self.connections.get(protocol, {}).get("application_instance")
        if running is not None and isinstance(protocol, Request):
            running.add_done_callback(partial(self._ended, protocol))
        return inbox

    def application_checker(self) -> None:
        """Called by Daphne once a second, which would stop doing so after failing to tell a client of an error. Here
        that client is cut off, and the others are checked a second later."""
        try:
            super().application_checker()
        except Exception:
            logger.exception("a client could not be told that its request failed")
            for protocol, details in self.connections.items():
                if "application_instance" in details and not _is_running(details):
                    del details["application_instance"]
                    _cut_off(protocol)
                    break
            reactor.callLater(1, self.application_checker)

    def timeout_checker(self) -> None:
        """Called by Daphne every two seconds; it would stop after an error in the same way."""
        for protocol in list(self.connections):
            try:
                protocol.check_timeouts()
            except Exception:
                logger.exception("cannot check whether a client is still connected")
                _cut_off(protocol)
        reactor.callLater(2, self.timeout_checker)

    def _ended(self, protocol: Request, running: "asyncio.Task[None]") -> None:
        """Do not keep a client waiting for an answer that its application has left unfinished."""
        if running.cancelled() or running.exception() is not None:
            return  # Daphne sees to that
        if self._is_gone(protocol):
            # Nothing more can happen to it: Daphne would check it once a second, with all others.
            self.connections.pop(protocol, None)
        elif not protocol.finished:
            protocol.hang_up()

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Pass one of the application's messages to its client, then wait while the client's socket is full."""
        if self._is_gone(protocol):
            return
        is_last = message["type"] == "websocket.close" or (
            message["type"] == "http.response.body" and not message.get("more_body", False)
        )
        if is_last:
            self.release_brake(protocol)  # Twisted does not close a connection that still has a producer
            protocol.handle_reply(message)
            return
        brake = self._brakes.get(protocol) or self._brake(protocol)
        if message["type"] == "http.response.start" and self._is_stopping:
            _close_after(protocol)
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        protocol.handle_reply(message)
        if brake.is_full and not await brake.wait_for_room(self.limits.silence_seconds) and not self._is_gone(protocol):
            self._cut_off(protocol)

    def _cut_off(self, protocol: Any) -> None:
        """Cut off a client that takes nothing: it costs memory, and keeps upstream waiting."""
        if isinstance(protocol, Request):
            protocol.cut_off(f"the client read nothing for {self.limits.silence_seconds:g} s")
        else:
            protocol.transport.abortConnection()

    def protocol_disconnected(self, protocol: Any) -> None:
        """The client has left, or its response is done: nobody waits for its socket any longer."""
        self.release_brake(protocol)
        if isinstance(protocol, Request) and protocol in self.connections:
            access.tell(protocol)
        super().protocol_disconnected(protocol)

    def _shut_down(self, close: Callable[[], object]) -> defer.Deferred[None]:
        """Accept no more connections, announce in each answer that begins from now on that its connection ends with it,
        and tell Twisted when the rest is done. A client whose answer has begun cannot be told, so its connection
        stays."""
        close()
        self._is_stopping = True
        done = defer.Deferred.fromFuture(asyncio.ensure_future(self._end_applications()))
        return done.addErrback(lambda failure: logger.error("Did not stop cleanly: %s", failure.getTraceback()))

    async def _end_applications(self) -> None:
        """Let requests end, cancel those that still run, then let the application finish its work."""
        last_seconds = self.limits.last_seconds
        if self._drain is not None:
            await self._drain(self.kept.may_bring_requests)
        running = [details["application_instance"] for details in self.connections.values() if _is_running(details)]
        for application in running:
            application.cancel()
        if running:
            await asyncio.wait(running, timeout=last_seconds)
        # What is recorded is in the journal by now: there is no reason to wait for a database that does not answer.
        try:
            await asyncio.wait_for(self._lifespan.shutdown(), last_seconds)
        except TimeoutError:
            logger.error("Stopped after %s s more, when the application had not finished its work.", last_seconds)

    def _is_gone(self, protocol: Any) -> bool:
        details = self.connections.get(protocol)
        return details is None or "disconnected" in details

    def _brake(self, protocol: Any) -> Brake:
        """Make a brake for a request or a websocket, and register it with its transport."""
        if isinstance(protocol, WebRequest):
            brake = Brake(protocol.channel.transport, starts_full=protocol.channel._waitingForTransport)
            protocol.registerProducer(brake, True)
        else:
            brake = Brake(protocol.transport)
            protocol.transport.unregisterProducer()  # that of the HTTP connection which became this websocket
            protocol.transport.registerProducer(brake, True)
        self._brakes[protocol] = brake
        return brake

    def release_brake(self, protocol: Any) -> None:
        """Release whoever waits for this client's socket; the connection can close from now on."""
        brake = self._brakes.pop(protocol, None)
        if brake is None:
            return
        brake.stopProducing()
        if isinstance(protocol, WebRequest):
            if protocol.channel is not None:
                protocol.unregisterProducer()
        elif protocol.transport is not None:
            protocol.transport.unregisterProducer()


def _malformed(target: bytes, status: int, why: str = "", headers: Headers = ()) -> bytes:
    """The response that refuses a request if no application provides a better one."""
    said = f"{why or HTTPStatus(status).phrase}\n".encode()
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: text/plain\r\nconnection: close\r\n"
    return b"%scontent-length: %d\r\n\r\n%s" % (head.encode(), len(said), said)


def _close_after(protocol: Any) -> None:
    """Close its connection after this response."""
    if isinstance(protocol, WebRequest) and protocol.channel is not None:
        protocol.channel.persistent = False


def _cut_off(protocol: Any) -> None:
    channel = protocol.channel if isinstance(protocol, WebRequest) else protocol
    if channel is not None and channel.transport is not None:
        channel.transport.abortConnection()


def _is_running(details: dict[str, Any]) -> bool:
    return "application_instance" in details and not details["application_instance"].done()
