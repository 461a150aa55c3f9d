"""A simulator as a separate process, with plain HTTP calls to it."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from streamviz.simulator.endpoints import ENDPOINTS

ROOT = Path(__file__).parents[2]
PATHS = {endpoint.wire_format: endpoint.path for endpoint in ENDPOINTS}


class Simulator:
    """A running simulator, and plain HTTP calls to it."""

    paths = PATHS

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def connect(self) -> http.client.HTTPConnection:
        """A connection that is closed when this context manager exits."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        self._open.callback(connection.close)
        return connection

    def ask(self, wire_format: str, model: str, *, prompt: str = "Hello", **more: Any) -> http.client.HTTPResponse:
        """Request a message and leave the response's body to the caller."""
        connection = self.connect()
        connection.request("POST", PATHS[wire_format], json.dumps(streaming_request(wire_format, model, prompt) | more))
        return self.response(connection)

    def response(self, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        """The response on a connection; closed when this context manager exits."""
        return self._open.enter_context(connection.getresponse())

    def get(self, path: str) -> bytes:
        connection = self.connect()
        connection.request("GET", path)
        response = self.response(connection)
        assert response.status == 200, response.read()
        return response.read()

    def get_json(self, path: str) -> Any:
        return json.loads(self.get(path))


def streaming_request(wire_format: str, model: str, prompt: str) -> dict[str, Any]:
    """A streaming request with this prompt."""
    said = (
        {"input": prompt} if wire_format == "openai_responses" else {"messages": [{"role": "user", "content": prompt}]}
    )
    return {"model": model, "stream": True, **said}


@contextmanager
def running_simulator(*arguments: str) -> Iterator[int]:
    """Start a simulator on a free port and yield the port; the simulator is stopped at the end."""
    command = [sys.executable, "-m", "streamviz.simulator", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().rpartition(":")[2])
        finally:
            process.terminate()


def http_chunks(simulator: Simulator, wire_format: str, model: str) -> list[int]:
    """The sizes of an answer's HTTP chunks, one per write."""
    response = simulator.ask(wire_format, model)
    sizes = []
    while size := int(response.fp.readline(), 16):
        sizes.append(size)
        response.fp.read(size + 2)
    return sizes
