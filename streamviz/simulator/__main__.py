"""`python -m streamviz.simulator`: the simulated provider as a process of its own."""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from aiohttp import web

from streamviz.simulator.app import make_app
from streamviz.simulator.model_name import parse_speed

SHUTDOWN_SECONDS = 0.2


def main() -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status. If the port is taken, that is one line and status 1."""
    options = _parser().parse_args()
    try:
        asyncio.run(_serve(options.host, options.port, make_app(options.speed, options.replay_dir)))
    except OSError as error:
        print(f"simulator: cannot listen on {options.host}:{options.port}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _port(text: str) -> int:
    """Raises ArgumentTypeError if it is not a port."""
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is from 0 to 65535, not {text!r}")
    return int(text)


def _speed(text: str) -> float:
    """Raises ArgumentTypeError if it is not a speed."""
    try:
        return parse_speed(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a speed is a number from 0, or inf, not {text!r}") from None


def _folder(text: str) -> Path:
    """Raises ArgumentTypeError if there is no such folder: every replay would be a 404."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}")
    return Path(text)


def _parser() -> argparse.ArgumentParser:
    environ = os.environ
    parser = argparse.ArgumentParser(
        prog="python -m streamviz.simulator", description="A model provider with no model."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument(
        "--port",
        type=_port,
        default=environ.get("SIMULATOR_PORT") or "8001",
        help="port to listen on (default %(default)s); 0 takes a free one",
    )
    parser.add_argument(
        "--speed",
        type=_speed,
        default=environ.get("SIMULATOR_SPEED") or "1",
        help="how many times faster than a real provider; 0 or inf: no delays (default %(default)s)",
    )
    parser.add_argument(
        "--replay-dir",
        type=_folder,
        default=environ.get("SIMULATOR_REPLAY_DIR") or None,
        help="folder of recorded streams, <format>/<slug>.sse",
    )
    return parser


async def _serve(host: str, port: int, app: web.Application) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # Without handler_cancellation a stalled stream would not notice that its client has left.
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        print(f"simulator: listening on http://{host}:{runner.addresses[0][1]}", flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    sys.exit(main())
