"""An ASGI application for tests of the server; `python -m tests.serving.server_app PORT SILENCE_SECONDS LAST_SECONDS
[PROXY…]` serves it."""

import asyncio
import logging
import resource
import signal
import sys
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from streamviz.asgi_types import LEFT, WHY
from streamviz.faults import Fault
from streamviz.live.subscriber import TRY_AGAIN
from streamviz.serving.gate import Passage
from streamviz.serving.listening import Listening
from streamviz.serving.server import Limits, MayCome

PART = b"x" * 64 * 1024
PARTS = 3200  # 200 MiB, far more than any socket buffers
TURNS = 2000  # of the event loop: enough to send everything if nothing blocked it

sent = {"http": 0, "websocket": 0}
held_back: list[bool] = []
hung: list[bool] = []
enough = asyncio.Event()
asked: list[bytes] = []
lengths: list[int] = []
# How many of these the gate was asked for in the present turn of the event loop, and the most in one turn.
turn: list[int] = []
most_in_turn = [0]
roots: list[str] = []
scopes: list[dict[str, Any]] = []


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Dispatch to the handler of the request's path."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "websocket":
        if scope["path"] == "/cookies":
            say(f"cookies {[value for name, value in scope['headers'] if name == b'cookie']}")
            await send({"type": "websocket.close"})
            return
        await SOCKETS[scope["path"]](receive, send)
    else:
        roots.append(scope["root_path"])
        scopes.append({name: scope[name] for name in ("http_version", "path", "raw_path", "query_string", "headers")})
        scope["extensions"][LEFT].add_done_callback(lambda left: say(f"left {left.result()[WHY]}"))
        await PAGES[scope["path"]](receive, send)


async def lifespan(receive: Any, send: Any) -> None:
    """Report startup and shutdown."""
    await receive()
    say("started")
    await send({"type": "lifespan.startup.complete"})
    await receive()
    say("stopped")
    if hung:
        await asyncio.Event().wait()
    await send({"type": "lifespan.shutdown.complete"})


async def flood(receive: Any, send: Any) -> None:
    """Send as fast as possible."""
    await start(send)
    for _ in range(PARTS):
        await send({"type": "http.response.body", "body": PART, "more_body": True})
        sent["http"] += 1
        await asyncio.sleep(0)
    await send({"type": "http.response.body"})
    say("flood done")


async def flood_until_left(receive: Any, send: Any) -> None:
    """Send until the client has left."""
    await start(send)
    await receive()
    gone = asyncio.ensure_future(receive())
    while not gone.done():
        await send({"type": "http.response.body", "body": PART, "more_body": True})
        await asyncio.sleep(0)
    say(f"got {gone.result()['type']} {gone.result()[WHY]}")


async def unfinished(receive: Any, send: Any) -> None:
    """Return in the middle of the answer."""
    await start(send)
    await send({"type": "http.response.body", "body": b"part", "more_body": True})


async def out_of_order(receive: Any, send: Any) -> None:
    """Send a body without a head."""
    await send({"type": "http.response.body", "body": b"part", "more_body": True})


async def as_asked(receive: Any, send: Any) -> None:
    """Send a description of the request, in two pieces."""
    await start(send)
    await send({"type": "http.response.body", "body": repr(scopes[-1]).encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"."})


async def websocket_flood(receive: Any, send: Any) -> None:
    """Flood a websocket."""
    await receive()
    await send({"type": "websocket.accept"})
    await flood_socket(send)
    await send({"type": "websocket.close"})
    say("websocket flood done")


async def websocket_sent_away(receive: Any, send: Any) -> None:
    """Flood a websocket until its client sends something, then close it."""
    await receive()
    await send({"type": "websocket.accept"})
    sending = asyncio.ensure_future(flood_socket(send))
    await receive()
    sending.cancel()
    await send({"type": "websocket.close", "code": TRY_AGAIN})
    left = await receive()
    say(f"got {left['type']} {left['code']}")


async def long_message(receive: Any, send: Any) -> None:
    """Send a message as long as the longest page."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": "x" * 2_000_000})
    await send({"type": "websocket.close"})


async def never_accepted(receive: Any, send: Any) -> None:
    """Never accept, and wait until the client has left."""
    await receive()
    say("asked")
    say(f"then {(await receive())['type']}")


async def flood_socket(send: Any) -> None:
    """Send as fast as possible."""
    for _ in range(PARTS):
        await send({"type": "websocket.send", "bytes": PART})
        sent["websocket"] += 1
        await asyncio.sleep(0)


async def progress(receive: Any, send: Any) -> None:
    """How many parts each flood has sent, and this process's peak memory so far in KiB."""
    for _ in range(TURNS):
        await asyncio.sleep(0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await answer(send, f"{sent['http']} {sent['websocket']} {memory}".encode())


async def hello(receive: Any, send: Any) -> None:
    """A complete answer."""
    await answer(send, b"hello")


async def below(receive: Any, send: Any) -> None:
    """The root paths of requests so far."""
    await answer(send, repr(set(roots)).encode())


async def hold_back(receive: Any, send: Any) -> None:
    """Make the server wait when it is told to stop."""
    held_back.append(True)
    await answer(send, b"so be it")


async def hang(receive: Any, send: Any) -> None:
    """Make sure that neither this answer nor the application's shutdown ever ends, even when cancelled."""
    hung.append(True)
    await start(send)
    await send({"type": "http.response.body", "body": b"part", "more_body": True})
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


async def be_enough(receive: Any, send: Any) -> None:
    """End the wait."""
    enough.set()
    await answer(send, b"so be it")


async def fail_midway(receive: Any, send: Any) -> None:
    """Fail after the first part of the answer."""
    await start(send)
    await send({"type": "http.response.body", "body": b"part", "more_body": True})
    raise RuntimeError("failed midway")


async def fail(receive: Any, send: Any) -> None:
    """Fail before the answer."""
    raise RuntimeError("failed at once")


async def endless(receive: Any, send: Any) -> None:
    """Keep the answer open until the server stops."""
    await start(send)
    await send({"type": "http.response.body", "body": b"part", "more_body": True})
    try:
        await asyncio.Event().wait()
    finally:
        say("cancelled")


async def until_enough(receive: Any, send: Any) -> None:
    """Keep the answer open until /enough is requested."""
    await start(send)
    await send({"type": "http.response.body", "body": b"part", "more_body": True})
    await enough.wait()
    await send({"type": "http.response.body", "body": b"end"})


async def body(receive: Any, send: Any) -> None:
    """The length of the request's body, how often the gate was asked, and for how many lengths."""
    taken, more = 0, True
    while more:
        part = await receive()
        taken, more = taken + len(part["body"]), part["more_body"]
    await answer(send, f"{taken} {len(asked)} {len(lengths)}".encode())


async def pieces_a_turn(receive: Any, send: Any) -> None:
    """The most pieces of a body that the gate was shown in one turn of the event loop."""
    while (await receive())["more_body"]:
        pass
    await answer(send, f"{len(lengths)} {most_in_turn[0]}".encode())


def gate(path: bytes, headers: Any, client: str) -> Passage:
    """Admit bodies no longer than a part of a flood."""
    asked.append(path)
    return passage


def passage(length: int) -> bytes | None:
    lengths.append(length)
    if not turn:
        asyncio.get_running_loop().call_soon(end_turn)
    turn.append(length)
    return None if length <= len(PART) else b"HTTP/1.1 413 Too large\r\nconnection: close\r\n\r\n"


def end_turn() -> None:
    most_in_turn[0] = max(most_in_turn[0], len(turn))
    turn.clear()


def malformed(target: bytes, status: int, why: str = "", headers: Any = ()) -> bytes:
    """The answer to a malformed request, with its reason and target."""
    return b"HTTP/1.1 %d Malformed\r\nconnection: close\r\n\r\n%s%s" % (status, why.encode(), target[:20])


def no_websocket(target: bytes, headers: Any) -> bytes | None:
    """Refuse websockets at one path."""
    return b"HTTP/1.1 426 Upgrade Required\r\nconnection: close\r\n\r\n" if target == b"/body" else None


PAGES = {
    "/body": body,
    "/": hello,
    "/below": below,
    "/flood": flood,
    "/flood-until-left": flood_until_left,
    "/progress": progress,
    "/fail-midway": fail_midway,
    "/fail": fail,
    "/out-of-order": out_of_order,
    "/as-asked": as_asked,
    "/pieces-a-turn": pieces_a_turn,
    "/unfinished": unfinished,
    "/hold-back": hold_back,
    "/enough": be_enough,
    "/hang": hang,
    "/endless": endless,
    "/until-enough": until_enough,
}

SOCKETS = {
    "/socket": websocket_flood,
    "/sent-away": websocket_sent_away,
    "/never": never_accepted,
    "/long": long_message,
}


async def start(send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})


async def answer(send: Any, body: bytes) -> None:
    await start(send)
    await send({"type": "http.response.body", "body": body})


async def drain(may_come: MayCome) -> None:
    """If a client requested /hold-back, wait until one requests /enough; also wait while a proxy may send a request."""
    say("draining")
    if held_back:
        await enough.wait()
    while may_come():
        await asyncio.sleep(0.01)


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if a shell runs the tests in the background
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        server = Listening(
            application,
            "127.0.0.1",
            int(sys.argv[1]),
            drain,
            hand_over=lambda descriptor, request: False,  # no process takes its websockets, so it serves them itself
            limits=Limits(float(sys.argv[2]), tuple(ip_network(proxy) for proxy in sys.argv[4:]), float(sys.argv[3])),
        )
        server.gate = gate
        server.malformed, server.no_websocket = malformed, no_websocket
        server.run()
    except Fault as fault:
        sys.exit(f"fault: {fault}")
    say("ended")
