"""What a storage answers that does not do as S3 does: it is told in a sentence, and costs little."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from select import select

import pytest

from streamviz.records.archive import bucket as bucket_module
from streamviz.records.archive.bucket import Bucket, ChunksAway, ObjectAway, ObjectLost
from streamviz.records.rules import Archive

Answer = Callable[[BaseHTTPRequestHandler], None]

PIECE = bytes(2**20)
PIECES = 200


@contextmanager
def answered(answer: Answer) -> Iterator[tuple[Bucket, list[str]]]:
    """A bucket whose storage gives this answer to everything, and the methods that it was called with."""
    called: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            called.append(self.command)
            answer(self)

        do_GET = do_HEAD = do_PUT = do_DELETE = handle_any  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Bucket(Archive("b", "", f"http://127.0.0.1:{server.server_port}", "us-east-1", 3, "id", "secret")), called
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def told(status: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    return answer


def without_end(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    handler.send_response(206)
    handler.end_headers()
    with suppress(OSError):
        for _ in range(PIECES):
            handler.wfile.write(PIECE)
        handler.close_connection = False  # all of it was taken


@pytest.mark.parametrize("status", [301, 302, 307])
@pytest.mark.parametrize("call", [lambda bucket: bucket.get("x", 0, 9), lambda bucket: bucket.put("x", b"data")])
def test_a_redirect_is_told_of_and_not_followed(status: int, call: Callable[[Bucket], object]) -> None:
    """As of a proxy that sends everybody to https."""
    with answered(told(status, location="http://127.0.0.1:1/internal")) as (bucket, called):
        with pytest.raises(ChunksAway, match="redirects to another address, which is not followed"):
            call(bucket)
        assert len(called) == 1


def test_no_more_is_read_than_was_asked_for() -> None:
    taken = SimpleQueue[bool]()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        without_end(handler)
        taken.put(not handler.close_connection)

    with answered(answer) as (bucket, _), pytest.raises(ObjectAway, match="other bytes than were asked for"):
        bucket.get("x", 5, 9)
    assert not taken.get(timeout=60)


@pytest.mark.parametrize("body", [b"<html>Please sign in.</html>", PIECE], ids=["a page", "all of it"])
def test_an_answer_that_ignores_what_was_asked_for_is_no_damage(body: bytes) -> None:
    """An export must not take it for an object that is lost for ever."""
    with answered(told(200, body)) as (bucket, _), pytest.raises(ObjectAway, match="other bytes") as raised:
        bucket.get("x", 5, 90)
    assert not isinstance(raised.value, ObjectLost)


def test_all_of_an_object_may_come_without_its_range() -> None:
    with answered(told(200, b"all of it")) as (bucket, _):
        assert bucket.get("x", 0, 9) == b"all of it"


def test_a_body_that_breaks_off_is_no_object_that_is_cut_off() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        told(206, b"some", content_length="9")(handler)
        handler.close_connection = True

    with answered(answer) as (bucket, _), pytest.raises(ChunksAway, match="does not answer") as raised:
        bucket.get("x", 0, 9)
    assert not isinstance(raised.value, ObjectAway)


def slowly(handler: BaseHTTPRequestHandler, head: str) -> bool:
    """Send a head, and then a byte at a time, until the client is gone; returns whether it took all of them."""
    handler.close_connection = True
    try:
        handler.wfile.write(head.encode())
        for _ in range(PIECES):
            handler.wfile.write(b"x")
            if select([handler.connection], [], [], 0.01)[0]:
                return False
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 206 OK\r\nx-slow: ",
        "HTTP/1.1 206 OK\r\ncontent-length: 9999\r\n\r\n",
        "HTTP/1.1 206 OK\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 500 OK\r\ncontent-length: 9999\r\n\r\n",
    ],
    ids=["the head", "the body", "a body without a length", "an error"],
)
def test_a_storage_that_sends_a_byte_at_a_time_is_given_up_on(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "WHOLE_SECONDS", 0.1)
    taken = SimpleQueue[bool]()
    with answered(lambda handler: taken.put(slowly(handler, head))) as (bucket, called):
        with pytest.raises(ChunksAway, match="takes longer than") as raised:
            bucket.get("x", 0, 9999)
        assert not isinstance(raised.value, ObjectAway)
        with pytest.raises(ChunksAway, match="takes longer than"):
            bucket.get("x", 0, 9999)  # at once, without asking
    assert not any(taken.get(timeout=60) for _ in called)


def test_a_request_that_was_in_time_leaves_its_connection_to_the_next() -> None:
    clients: list[tuple[str, int]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        clients.append(handler.client_address)
        told(206, b"all of it")(handler)

    with answered(answer) as (bucket, _):
        assert [bucket.get("x", 0, 9) for _ in range(3)] == [b"all of it"] * 3
    assert len(set(clients)) == 1
