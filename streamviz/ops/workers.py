"""Several servers on one port of one machine, kept running, and the hub between them."""

import queue
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from django.conf import settings

from streamviz.faults import cannot_listen
from streamviz.ops import sockets
from streamviz.ops.children import Child, stop_together
from streamviz.ops.keeping import Keeping
from streamviz.ops.supervisor import stoppable
from streamviz.serving.closing import connect_nobody_more
from streamviz.serving.sharing import Shares

BACKLOG = 512
# Less than this process is given by the one that started it.
STOP_SECONDS = 10


class Server(Child):
    """One of the servers, counted from 0. Once it has ended, none of the others waits for it to take a connection."""

    def __init__(self, number: int, shares: Shares, files: Sequence[int], environment: Mapping[str, str]) -> None:
        own = {**environment, "STREAMVIZ_SERVER": str(number)}
        # Asking whether its address answers would not do: another server on the same port may answer.
        super().__init__(f"server {number + 1}", ["streamviz", "serve"], partial(shares.serves, number), own, files)
        self._ended = partial(shares.ended, number)

    def start(self, on_end: Callable[[Child], None]) -> None:
        def told(child: Child) -> None:
            self._ended()
            on_end(child)

        super().start(told)


def own_folder() -> TemporaryDirectory[str]:
    """A folder for the hub's socket, removed along with the servers."""
    return TemporaryDirectory(prefix="streamviz-", dir=sockets.folder())


def run(count: int) -> None:
    """Serve with `count` processes until a stop signal. Raises Fault if it cannot listen or start a server."""
    with (
        stoppable(lambda _: None),
        _listening() as listener,
        own_folder() as folder,
        # Without a name, because what clears temporary folders of old files would take it from restarted servers.
        TemporaryFile(dir=folder) as shares,
    ):
        hub, servers = _children(count, listener.fileno(), shares.fileno(), Path(folder) / "hub")
        ended: queue.SimpleQueue[Child] = queue.SimpleQueue()
        children = [hub, *servers]  # the hub is idle if there is Redis
        for child in children:
            child.start(ended.put)
        try:
            for child in children:
                child.wait_until_ready()
            Keeping(ended).run()
        finally:
            connect_nobody_more(listener)
            listener.close()
            stop_together(servers, STOP_SECONDS)
            hub.stop()


def _children(count: int, listener: int, counts: int, socket_path: Path) -> tuple[Child, list[Child]]:
    environment = {
        "STREAMVIZ_LISTENER": str(listener),
        "STREAMVIZ_HUB": str(socket_path),
        "STREAMVIZ_SHARES": str(counts),
    }
    hub = Child("hub", ["streamviz.live.hub", str(socket_path)], socket_path.exists, {})
    shares = Shares.make(counts, count)
    return hub, [Server(number, shares, [listener, counts], environment) for number in range(count)]


@contextmanager
def _listening() -> Iterator[socket.socket]:
    """A socket for all servers: whoever connects while one is restarted is served by another."""
    is_v6 = ":" in settings.HOST
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    address = settings.HOST, settings.PORT
    try:
        listener = socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=is_v6)
    except OSError as error:
        raise cannot_listen(error, settings.HOST, settings.PORT) from None
    with listener:
        listener.setblocking(False)
        yield listener
