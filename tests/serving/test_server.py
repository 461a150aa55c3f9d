"""The server with a real socket and a client that reads slowly, disconnects, or comes back."""

import ast
import base64
import http.client
import resource
import signal
import socket
import ssl
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from streamviz.live.subscriber import TRY_AGAIN
from tests.e2e.proxied import until
from tests.services import Program, clean_environment, free_port
from tests.serving.server_app import PART, PARTS

pytestmark = pytest.mark.integration

SMALL_BUFFER = 64 * 1024
MOST_PARTS_IN_SOCKETS = 16  # 1 MiB: what kernel and server buffer on both sides, with a margin
MOST_GROWTH_KIB = 40 * 1024
# A websocket frame with one letter.
SOMETHING_SAID = b"\x81\x81\x00\x00\x00\x00x"
WEBSOCKET_REQUEST = (
    "GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Key: {base64.b64encode(b'0123456789abcdef').decode()}\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Served(Program):
    """A process that serves the application of tests.serving.server_app."""

    def __init__(self, silence_seconds: float = 120, last_seconds: float = 10, proxies: Iterable[str] = ()) -> None:
        self.port = free_port()
        arguments = [*map(str, (self.port, silence_seconds, last_seconds)), *proxies]
        super().__init__([sys.executable, "-m", "tests.serving.server_app", *arguments], clean_environment())
        self.wait_for("Listening on")

    @contextmanager
    def slow_client(self, request: str) -> Iterator[socket.socket]:
        """A client that has sent its request and reads nothing unless told to."""
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
            client.connect(("127.0.0.1", self.port))
            client.sendall(request.encode())
            yield client

    def progress(self) -> tuple[int, int, int]:
        """Parts sent over HTTP and over the websocket, memory in KiB; polled until the parts stay the same."""
        before = None
        while True:
            http_parts, websocket_parts, memory = map(int, self.get("/progress").split())
            if before == (http_parts, websocket_parts):
                return http_parts, websocket_parts, memory
            before = (http_parts, websocket_parts)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def get(self, path: str) -> bytes:
        with closing(self.connect()) as connection:
            connection.request("GET", path)
            return connection.getresponse().read()


@pytest.fixture
def served() -> Iterator[Served]:
    yield from serving()


@pytest.fixture(scope="module")
def shared() -> Iterator[Served]:
    """A server for all tests that neither stop it nor count its actions, and leave nothing behind for others."""
    yield from serving()


@pytest.fixture
def impatient() -> Iterator[Served]:
    """A server that soon cuts clients off."""
    yield from serving(silence_seconds=2)


@pytest.fixture
def hasty() -> Iterator[Served]:
    """A server that gives its application little time to stop."""
    yield from serving(last_seconds=0.5)


@pytest.fixture
def proxied() -> Iterator[Served]:
    """A server whose clients are a trusted proxy."""
    yield from serving(proxies=["127.0.0.1"])


def serving(**limits: Any) -> Iterator[Served]:
    server = Served(**limits)
    yield server
    server.process.kill()
    server.wait()


def get_request(path: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def read_to_end(client: socket.socket) -> int:
    """How many bytes arrive until the server closes."""
    total = 0
    while data := client.recv(1 << 20):
        total += len(data)
    return total


def test_sending_waits_for_a_client_that_does_not_read(served: Served) -> None:
    _, _, memory_before = served.progress()
    with served.slow_client(get_request("/flood")):
        parts, _, memory = served.progress()
    assert 0 < parts < MOST_PARTS_IN_SOCKETS
    assert memory - memory_before < MOST_GROWTH_KIB


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which timers a socket has")
def test_the_system_looks_whether_a_silent_client_is_still_there(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60):
        served.get("/")  # connections are accepted in order
        assert any(timer.startswith("02:") for timer in established(served.port))


def established(port: int) -> list[str]:
    """The timers of the server's ends of its connections."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row[5] for row in rows if int(row[1].rpartition(":")[2], 16) == port and row[3] == "01"]


def test_sending_goes_on_when_the_client_reads_again(served: Served) -> None:
    with served.slow_client(get_request("/flood")) as client:
        assert served.progress()[0] < MOST_PARTS_IN_SOCKETS
        assert read_to_end(client) > PARTS * len(PART)
    served.wait_for("flood done")


def test_a_websocket_waits_for_a_client_that_does_not_read(served: Served) -> None:
    _, _, memory_before = served.progress()
    with served.slow_client(WEBSOCKET_REQUEST) as client:
        _, parts, memory = served.progress()
        assert 0 < parts < MOST_PARTS_IN_SOCKETS
        assert memory - memory_before < MOST_GROWTH_KIB
        client.settimeout(60)
        total = 0
        while total < PARTS * len(PART):
            total += len(client.recv(1 << 20))
    served.wait_for("websocket flood done")


def test_a_client_that_leaves_frees_who_waits_for_it(served: Served) -> None:
    with served.slow_client(get_request("/flood-until-left")):
        served.progress()
    served.wait_for("got http.disconnect \n")


def test_a_client_that_takes_nothing_is_cut_off(impatient: Served) -> None:
    with impatient.slow_client(get_request("/flood-until-left")) as client:
        impatient.wait_for("got http.disconnect the client read nothing for 2 s")
        impatient.wait_for("left the client read nothing for 2 s")
        with pytest.raises(ConnectionResetError):
            read_to_end(client)


def test_a_client_that_takes_little_gets_everything(served: Served) -> None:
    with served.slow_client(get_request("/flood")) as client:
        total = 0
        for _ in range(100):  # no faster than the server answers requests
            total += len(client.recv(SMALL_BUFFER))
            served.get("/")
        assert total + read_to_end(client) > PARTS * len(PART)


@pytest.mark.slow
def test_a_websocket_that_takes_nothing_is_closed_all_the_same(served: Served) -> None:
    with served.slow_client(WEBSOCKET_REQUEST.replace("/socket", "/sent-away")) as client:
        served.progress()
        client.sendall(SOMETHING_SAID)
        served.wait_for("got websocket.disconnect 1006")
    assert "dropping connection" not in served.output()  # it would warn of every browser that just goes away


def test_a_websocket_that_takes_what_was_on_its_way_sees_why_it_is_closed(served: Served) -> None:
    with served.slow_client(WEBSOCKET_REQUEST.replace("/socket", "/sent-away")) as client:
        served.progress()
        client.sendall(SOMETHING_SAID)
        client.settimeout(60)
        end = b""
        while end != b"\x88\x02" + TRY_AGAIN.to_bytes(2):
            data = client.recv(1 << 20)
            assert data, f"closed after {end!r}"
            end = (end + data)[-4:]


def test_an_answer_that_is_left_unfinished_is_cut_off(shared: Served) -> None:
    with pytest.raises(http.client.IncompleteRead):
        shared.get("/unfinished")


def test_a_connection_ends_with_its_next_answer_when_the_server_stops(served: Served) -> None:
    with closing(served.connect()) as kept, closing(served.connect()) as other:
        for connection in (kept, other):
            connection.request("GET", "/hold-back")
            assert connection.getresponse().read() == b"so be it"
        served.process.terminate()
        served.wait_for("draining")
        for connection, path, said in ((kept, "/", b"hello"), (other, "/enough", b"so be it")):
            connection.request("GET", path)
            response = connection.getresponse()
            assert (response.status, response.read(), response.getheader("connection")) == (200, said, "close")
        with pytest.raises(ConnectionRefusedError):
            served.get("/")
    assert served.wait() == 0


def test_what_a_proxy_sends_on_connections_it_has_kept_is_answered_when_the_server_stops(proxied: Served) -> None:
    with closing(proxied.connect()) as idle, closing(proxied.connect()) as busy, closing(proxied.connect()) as unused:
        for connection in (idle, unused):
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"hello"
        busy.request("GET", "/until-enough")
        running = busy.getresponse()
        proxied.process.terminate()
        proxied.wait_for("draining")
        assert ask(idle, "/enough") == (b"so be it", "close")
        assert (running.read(), running.getheader("connection")) == (b"partend", None)
        assert ask(busy, "/") == (b"hello", "close")  # it was not told to close
        assert proxied.process.poll() is None
    assert proxied.wait() == 0


def ask(connection: http.client.HTTPConnection, path: str) -> tuple[bytes, str | None]:
    """The response on an existing connection, and its Connection header."""
    assert connection.sock is not None
    connection.request("GET", path)
    response = connection.getresponse()
    return response.read(), response.getheader("connection")


def test_other_clients_are_served_meanwhile(served: Served) -> None:
    with served.slow_client(get_request("/flood")):
        served.progress()
        assert served.get("/") == b"hello"


def test_a_connection_is_kept_for_the_next_request(shared: Served) -> None:
    with closing(shared.connect()) as connection:
        for _ in range(3):
            connection.request("GET", "/")
            socket_before = connection.sock
            response = connection.getresponse()
            assert response.getheader("server") == "streamviz"
            assert response.read() == b"hello"
            assert connection.sock is socket_before


def test_a_response_that_fails_midway_is_cut_off(served: Served) -> None:
    with pytest.raises(http.client.IncompleteRead):
        served.get("/fail-midway")
    served.wait_for("failed midway")
    with pytest.raises(http.client.IncompleteRead):  # the server still handles its connections
        served.get("/fail-midway")


def test_a_client_that_resets_its_connection_with_a_last_word_has_left(served: Served) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
            client.sendall(get_request("/endless").encode())
            assert client.recv(4096)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets it
            client.sendall(b"G")
    until(lambda: served.output().count("left") == 20)
    assert "Traceback" not in served.output()


def test_an_application_that_fails_at_once_gets_status_500(shared: Served) -> None:
    with closing(shared.connect()) as connection:
        connection.request("GET", "/fail")
        assert connection.getresponse().status == 500


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_the_application_after_its_last_request(served: Served, number: signal.Signals) -> None:
    with served.slow_client(get_request("/endless")) as client:
        assert client.recv(4096)
        served.process.send_signal(number)
        assert served.wait() == 0
    assert [line for line in served.output().splitlines() if " " not in line] == [
        "started",
        "draining",
        "cancelled",
        "stopped",
        "ended",
    ]


def test_it_stops_also_where_its_application_does_not(hasty: Served) -> None:
    with hasty.slow_client(get_request("/hang")) as client:
        assert client.recv(4096)
        hasty.process.send_signal(signal.SIGTERM)
        assert hasty.wait() == 0
    assert "Stopped after 0.5 s more, when the application had not finished its work" in hasty.output()


def test_a_port_in_use_is_one_line(shared: Served) -> None:
    arguments = [str(shared.port), "120", "10"]
    second = Program([sys.executable, "-m", "tests.serving.server_app", *arguments], clean_environment())
    assert second.wait() == 1
    assert f"fault: Port {shared.port} on 127.0.0.1 is in use by another program. Set PORT to" in second.output()
    assert "Traceback" not in second.output()


CHUNKED = "POST /body HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


def test_who_sends_a_body_in_chunks_is_asked_once(served: Served) -> None:
    with closing(served.connect()) as connection:
        connection.request("POST", "/body", body=(b"x" * 1000 for _ in range(50)), encode_chunked=True)
        taken, asked, looked = map(int, connection.getresponse().read().split())
    assert (taken, asked) == (50_000, 1)
    assert looked >= 50


def test_a_body_in_tiny_chunks_takes_turns_with_others(served: Served) -> None:
    tiny = CHUNKED.replace("/body", "/pieces-a-turn").encode() + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n"
    # Before it comes a body that can be read in larger pieces.
    plain = BODY + b"Content-Length: 30000\r\n\r\n" + b"x" * 30_000
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(plain + tiny)
        with client.makefile("rb") as answers:
            *_, told, _, _, _ = answers.read().split(b"\r\n")  # the answer's last piece, and the end of its pieces
    looked, most = map(int, told.split())
    assert looked >= 20_000
    assert most < 1_000


def test_the_sender_of_a_long_body_alone_is_asked_for_before_it_is_read(served: Served) -> None:
    for length, times in ((0, 0), (16_384, 0), (16_385, 1)):
        with closing(served.connect()) as connection:
            connection.request("POST", "/body", body=b"x" * length)
            assert connection.getresponse().read() == f"{length} {times} {times}".encode()


def test_a_body_in_chunks_is_refused_once_it_is_too_long(shared: Served) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), timeout=60) as client:
        client.sendall(CHUNKED.encode() + b"20000\r\n" + b"x" * 0x20000 + b"\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("piece", [b"x" * 1_100, b"x" * 60_000])
@pytest.mark.parametrize(("limit", "most"), [(resource.RLIMIT_FSIZE, 1_000), (resource.RLIMIT_NOFILE, 3)])
def test_a_body_for_which_there_is_no_room_is_refused(served: Served, limit: int, most: int, piece: bytes) -> None:
    with closing(served.connect()) as connection:
        connection.request("POST", "/body", body=b"x")
        assert connection.getresponse().read().startswith(b"1 ")
        before = resource.prlimit(served.process.pid, limit)
        resource.prlimit(served.process.pid, limit, (most, before[1]))
        connection.request("POST", "/body", body=iter([piece]), encode_chunked=True)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (503, b"the request cannot be kept/body")
    resource.prlimit(served.process.pid, limit, before)
    with closing(served.connect()) as connection:
        connection.request("POST", "/body", body=iter([piece]), encode_chunked=True)
        assert connection.getresponse().read().startswith(b"%d " % len(piece))
    served.wait_for("WARNING the body of a request cannot be kept: ")
    assert "Traceback" not in served.output()


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET /" + b"x" * 100_000, b"414"),
        (b"GET /body HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", b"431"),
        (b"GET /body HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 5_000, b"431"),
        (b"nonsense\r\n\r\n", b"400"),
    ],
)
def test_a_head_that_is_too_long_is_refused_with_a_word(shared: Served, head: bytes, answer: bytes) -> None:
    came = exchanged(shared, head)
    assert came.split()[1] == answer
    assert answer != b"431" or came.endswith(b"/body")


def test_who_speaks_tls_learns_at_once_that_it_is_not_spoken_here(shared: Served) -> None:
    with (
        socket.create_connection(("127.0.0.1", shared.port), timeout=60) as client,
        pytest.raises(ssl.SSLError, match="WRONG_VERSION_NUMBER"),
    ):
        ssl.create_default_context().wrap_socket(client, server_hostname="localhost")


BODY = b"POST /body HTTP/1.1\r\nHost: localhost\r\n"
WANTED = b"GET /body HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n"
BEYOND_ASCII = b"GET /body/\x80 HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        BODY + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        BODY + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        BODY + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        BODY + b"Content-Length: five\r\n\r\nhello",
        BODY + b"Transfer-Encoding: chunked\r\n\r\nfive\r\nhello\r\n0\r\n\r\n",
        BODY + b"X: a\x00b\r\n\r\n",
        BODY + b"no colon\r\n\r\n",
        BODY + b"Content-Length: 0\r\n\r\n" + BODY + b"no colon\r\n\r\n",
        BEYOND_ASCII + b"\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_the_applications_words(shared: Served, request_: bytes) -> None:
    last = exchanged(shared, request_).rpartition(b"HTTP/1.1 ")[2]
    assert last.startswith(b"400 Malformed")
    assert b"/body" in last


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (BODY + b"no colon\r\nContent-Length: 20000\r\n\r\n" + b"x" * 20_000, b"400"),
        (b"garbage\r\n" + b"x" * 20_000, b"400"),
        (WANTED + b"Content-Length: %d\r\n\r\n%b" % (len(PART) + 1, PART + b"x"), b"413"),
        (BODY + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\nfive\r\n" % (len(PART) + 1, PART + b"x"), b"413"),
    ],
)
def test_a_request_is_refused_once_however_much_is_wrong_with_it(
    served: Served, request_: bytes, status: bytes
) -> None:
    came = exchanged(served, request_)
    assert came.startswith(b"HTTP/1.1 " + status)
    assert came.count(b"HTTP/1.1 ") == 1
    assert "Traceback" not in served.output()


def test_an_access_line_has_the_path_as_it_is_served_so_that_the_log_finds_secrets_in_it(shared: Served) -> None:
    exchanged(shared, b"GET /%73hared%2Fa-secret HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    shared.wait_for("GET '/shared/a-secret' ")


@pytest.mark.parametrize(("request_", "status"), [(WANTED, 426), (BEYOND_ASCII, 400)])
def test_a_request_that_is_refused_whole_has_its_access_line(shared: Served, request_: bytes, status: int) -> None:
    assert exchanged(shared, request_ + b"\r\n").startswith(b"HTTP/1.1 %d " % status)
    path = request_.split()[1].decode("latin-1")
    shared.wait_for(f"GET {path!r} {status} in")


@pytest.mark.parametrize(
    "request_", [b"POST %s websocket", b"POST %s h2c", b"GET %s h2c", b"GET %s websocket\r\nUpgrade: h2c"]
)
def test_another_upgrade_changes_nothing(shared: Served, request_: bytes) -> None:
    head = b"/body HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade, close\r\nX: \xc3\x85\r\nUpgrade:"
    assert exchanged(shared, request_ % head + b"\r\nContent-Length: 5\r\n\r\nhello").startswith(b"HTTP/1.1 200")


def test_an_answer_out_of_order_is_a_failure(shared: Served) -> None:
    asked = b"GET /out-of-order HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    for _ in range(2):  # the first failure must not keep the second from being reported
        assert exchanged(shared, asked).startswith(b"HTTP/1.1 500 ")


def test_the_application_is_told_how_a_request_was_asked(shared: Served) -> None:
    head = b"%s /as%%2Dasked?a=%%C3%%A9&b HTTP/1.0\r\nSession_Id: 1\r\nX_Y: 2\r\nDaphne-Root-Path: /3\r\n\r\n"
    told = ast.literal_eval(exchanged(shared, head % b"GET").rpartition(b"\r\n\r\n")[2].decode().rstrip("."))
    assert told == {
        "http_version": "1.0",
        "path": "/as-asked",
        "raw_path": b"/as%2Dasked",
        "query_string": b"a=%C3%A9&b",
        "headers": [(b"daphne-root-path", b"/3"), (b"session-id", b"1")],
    }
    assert exchanged(shared, head % b"HEAD").endswith(b"\r\n\r\n")


def exchanged(served: Served, request_: bytes) -> bytes:
    """Everything that the server sends in reply until it closes the connection."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(request_)
        came = b""
        while data := client.recv(65536):
            came += data
    return came
