"""A run that is blocked in one of its phases until its client leaves: each party notices that it was stopped.

The model is a server in a thread here; the tool belongs to an MCP server, a process that streamviz starts.
"""

import json
import os
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.proxied import until
from tests.e2e.test_policies import Guarded
from tests.executors.support import HEAD, USAGE, plan, use
from tests.services import ROOT

# What is at work in each phase, and how the record shows that the client left: the part and outcome of the last call.
PHASES = {
    "plan": ("plan 2", "client_disconnected"),
    "tool": ("tools 2", "completed"),
    "held": ("tools 2", "client_disconnected"),
    "answer": ("answer", "client_disconnected"),
}
TOOL = "mcp__leaving__hang"
THOUGHT = "Let me see."
SECONDS = 60.0
ROUTE = """
INSERT INTO records_route (name, target, base_url, credential, executor, parameters)
VALUES (%s, 'openai/gpt-4o', %s, '', 'reasoning', '{"tools": ["mcp__leaving__*"]}')
"""
SERVER = """
INSERT INTO records_mcpserver (name, command, url, variables, credential, tools, is_enabled)
VALUES ('leaving', %s, '', '', '', '*', true)
"""
STREAMS = """
SELECT stream.id, part, outcome FROM records_stream AS stream JOIN records_session AS session ON session.id = session_id
WHERE name = %s ORDER BY requested_at
"""


class Model(ThreadingHTTPServer):
    """A model that thinks, uses the tool, and answers. To hang in a phase, it sends the beginning of that answer, sets
    `hangs` and waits until no one reads any more; then it sets `is_left`."""

    daemon_threads = True

    def __init__(self, file: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.file = file
        self.hangs_in = ""
        self.hangs, self.is_left = threading.Event(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def hang_in(self, phase: str) -> None:
        self.hangs_in = phase
        self.hangs.clear()
        self.is_left.clear()


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        taken = sum(message["role"] == "assistant" for message in asked["messages"])
        is_plan = "response_format" in asked
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if self.server.hangs_in == ("plan" if is_plan else "answer") and (taken or not is_plan):
            self._say('{"though' if is_plan else "Do")
            self.server.hangs.set()
            self.connection.recv(1)
            self.server.is_left.set()
            return
        self._say(self._step(taken) if is_plan else "Done.")
        self._write({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._write({"choices": [], "usage": USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def _step(self, taken: int) -> str:
        if not taken:
            return plan("continue_thinking", thought=THOUGHT)
        if self.server.hangs_in in ("tool", "held") and taken == 1:
            return plan("use_tools", use(TOOL, file=str(self.server.file)))
        return plan("finished")

    def _say(self, text: str) -> None:
        self._write({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})

    def _write(self, payload: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps({"id": "c1", **HEAD, **payload}).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@dataclass(frozen=True)
class Leaving:
    """streamviz in front of a model and a tool that hang, and the session of one run."""

    guarded: Guarded
    model: Model
    session: str = field(default_factory=lambda: uuid.uuid4().hex)

    @staticmethod
    def name(phase: str) -> str:
        """The name of the model; there is a second one, whose tool calls are held."""
        return "leaving-held" if phase == "held" else "leaving"

    def reach(self, phase: str) -> list[psutil.Process]:
        """Wait until the run is in that phase; returns the tool's processes."""
        if phase == "tool":
            self.model.file.read_text()
        elif phase == "held":
            self._wait_for_hold()
        else:
            assert self.model.hangs.wait(SECONDS)
        return self._tools()

    def require_stopped(self, phase: str, tools: list[psutil.Process]) -> None:
        """Wait until nothing is at work any more and the record says so."""
        if phase in ("plan", "answer"):
            assert self.model.is_left.wait(SECONDS)
        assert not psutil.wait_procs(tools, SECONDS)[1]
        until(lambda: (found := self._streams()) and all(outcome for _, _, outcome in found))
        streams = self._streams()
        assert streams[0][1:] == ("", "client_disconnected")
        assert streams[-1][1:] == PHASES[phase]

    def _streams(self) -> list[tuple[Any, ...]]:
        return self.guarded.query(STREAMS, self.session)

    def _wait_for_hold(self) -> None:
        [held] = until(lambda: [id for id, part, _ in self._streams() if part == "tools 2"])
        sent = {"authorization": f"Bearer {self.guarded.server.api_key}"}
        with self.guarded.http.stream("GET", f"/api/streams/{held}/events", headers=sent) as events:
            assert any("streamviz.hold" in line for line in events.iter_lines())

    def _tools(self) -> list[psutil.Process]:
        return [each for each in psutil.process_iter() if str(self.model.file) in _command(each)]


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return list(process.cmdline())
    return []


@contextmanager
def leaving_from(guarded: Guarded, folder: Path) -> Iterator[Model]:
    """Register the model and the tool with streamviz."""
    os.mkfifo(folder / "note")
    with Model(folder / "note") as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        command = f"{sys.executable} -I {ROOT / 'tests/executors/plain_server.py'} {model.file}"
        guarded.query(SERVER, command)
        guarded.query(ROUTE, Leaving.name("tool"), model.url)
        guarded.query(ROUTE, Leaving.name("held"), model.url)
        told = {"by_hand": "deny", "by_hand_seconds": 600, "models_scope": Leaving.name("held")}
        guarded.add("tool_rule", {"names": [TOOL]}, **told)
        until(lambda: {"leaving", "leaving-held"} <= {each.id for each in guarded.sdk.models.list()})
        yield model
        guarded.remove()
        guarded.query("DELETE FROM records_mcpserver WHERE name = 'leaving'")
        guarded.query("DELETE FROM records_route WHERE name LIKE 'leaving%%'")
        model.shutdown()
