"""Malformed and unexpected input in place of a websocket's handshake, or after it."""

import socket
from collections.abc import Iterator

import pytest

from streamviz.serving.websockets import MESSAGE_BYTES
from tests.serving.test_server import WEBSOCKET_REQUEST, Served, get_request

pytestmark = pytest.mark.integration

TOO_LONG = b"\x81\xfe" + (MESSAGE_BYTES + 1).to_bytes(2) + bytes(4) + bytes(MESSAGE_BYTES + 1)
VERSION = b"Sec-WebSocket-Version: 13\r\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    server = Served()
    yield server
    server.process.kill()
    server.wait()


def asked(path: str = "/never", added: bytes = b"") -> bytes:
    return WEBSOCKET_REQUEST.replace("/socket", path).encode()[:-2] + added + b"\r\n"


def connected(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=60)


def answer(served: Served, *parts: bytes) -> bytes:
    """Everything received until the server closes; later parts are sent after the head of the first answer."""
    with connected(served) as client:
        client.sendall(parts[0])
        came = b""
        try:
            for part in parts[1:]:
                while b"\r\n\r\n" not in came:
                    came += client.recv(1 << 16)
                client.sendall(part)
            while data := client.recv(1 << 16):
                came = (came + data)[-1000:]
        except ConnectionError:
            came += b"cut off"
        return came


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (asked(added=b"Origin: null\r\n"), b"400"),
        (asked().replace(VERSION, b"Sec-WebSocket-Version: x\xff\r\n"), b"400"),
        (asked(added=b"Sec-WebSocket-Key: abc\r\n"), b"400"),
        (asked(added=VERSION), b"400"),
        (asked("/never#x"), b"400"),
        (asked("//[/never"), b"400"),
    ],
)
def test_a_handshake_that_is_none_is_refused_without_a_traceback(
    served: Served, request_head: bytes, status: bytes
) -> None:
    assert answer(served, request_head).split()[1] == status
    assert served.get("/") == b"hello"
    assert "Traceback" not in served.output()
    assert "dropping connection" not in served.output()


@pytest.mark.parametrize("end", [b"\x85", b"\x0b"])
def test_what_would_be_read_as_the_end_of_a_line_is_refused(served: Served, end: bytes) -> None:
    with connected(served) as client:
        client.sendall(asked(added=b"X-Name: a" + end + b"X-Other: b\r\n"))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("protocols", [b"\xff", b"a,a"])
def test_protocols_that_are_asked_for_do_not_matter(served: Served, protocols: bytes) -> None:
    with connected(served) as client:
        client.sendall(asked("/sent-away", b"Sec-WebSocket-Protocol: " + protocols + b"\r\n"))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 101 ")


def test_cookies_in_several_headers_are_as_in_one(served: Served) -> None:
    """HTTP/2 sends cookies this way, and a proxy that translates it may leave them so."""
    answer(served, asked("/cookies", b"Cookie: a=1\r\nCookie: b=2\r\n"))
    served.wait_for("cookies [b'a=1; b=2']")


@pytest.mark.parametrize("root", [b"/elsewhere", b"\xff"])
def test_a_client_does_not_say_below_which_path_pages_are(served: Served, root: bytes) -> None:
    head = get_request("/below").encode()[:-2] + b"Daphne-Root-Path: " + root + b"\r\n\r\n"
    assert b"{''}" in answer(served, head)


def test_who_says_something_before_it_is_answered_is_cut_off(served: Served) -> None:
    with connected(served) as client:
        client.sendall(asked())
        served.wait_for("asked")
        client.sendall(asked())
        served.wait_for("then websocket.disconnect")
    assert "Traceback" not in served.output()


def test_what_a_browser_is_sent_may_be_long(served: Served) -> None:
    with connected(served) as client:
        client.sendall(asked("/long"))
        came = b""
        while not came.endswith(b"\x88\x02" + (1000).to_bytes(2)):
            came += client.recv(1 << 20)
    assert b"x" * 2_000_000 in came


def test_a_long_message_ends_it(served: Served) -> None:
    assert answer(served, asked("/sent-away"), TOO_LONG).endswith(b"cut off")


def test_a_flood_of_frames_is_cut_off_before_it_is_read(served: Served) -> None:
    assert answer(served, asked("/sent-away"), b"\x89\x80\x00\x00\x00\x00" * 20_000).endswith(b"cut off")
