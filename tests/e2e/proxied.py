"""A running streamviz and its surroundings: the SDK in front, the simulator behind it, and the record."""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import httpx
import openai
import psycopg

from tests.services import ROOT, Streamviz
from tests.simulator.process import Simulator

MESSAGES: Any = [{"role": "user", "content": "Hello"}]
CLIENT_TAPE = """
SELECT coalesce(string_agg(coalesce(made, raw), ''::bytea ORDER BY number), ''::bytea)
FROM records_frame LEFT JOIN records_chunk USING (stream_id, seq) WHERE stream_id = %s
"""
PASSED = "SELECT seq FROM records_frame WHERE stream_id = %s AND origin = 'upstream' ORDER BY number"
STREAM = """
SELECT stream.id, outcome, finish_reason, status, error, chunk_count, frame_count, block_count
FROM records_stream AS stream JOIN records_session AS session ON session.id = session_id WHERE name = %s
"""


def until(is_so: Callable[[], Any], seconds: float = 120) -> Any:
    """Poll until `is_so` returns something truthy, and return that; for what happens in another process."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)
    return found


@contextmanager
def locked(database_url: str, *tables: str) -> Iterator[None]:
    """Hold an exclusive lock on tables, like a migration that waits to finish: no one else can read them."""
    with psycopg.connect(database_url) as other:
        until(lambda: _can_lock(other, tables))
        yield


def _can_lock(connection: psycopg.Connection, tables: tuple[str, ...]) -> bool:
    """Lock the tables; False after a deadlock, as writers may lock a table's partitions in another order."""
    try:
        connection.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
    except psycopg.errors.DeadlockDetected:
        connection.rollback()
        return False
    return True


def files_with(folder: Path, text: str) -> list[str]:
    """The files that contain a text. A running process may rename or remove files during the search."""
    found = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            found += [str(path)] if path.is_file() and text.encode() in path.read_bytes() else []
    return found


class Call(Protocol):
    """A call that runs while something else is examined."""

    def hang_up(self) -> None:
        """Disconnect soon."""


@dataclass(frozen=True)
class Answer:
    """A response as received."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        """OpenAI's error object."""
        found: dict[str, Any] = httpx.Response(self.status, content=self.body).json()["error"]
        return found


@dataclass(frozen=True)
class Recorded:
    """What the record has of a stream that ended."""

    id: uuid.UUID
    outcome: str
    finish_reason: str
    status: int | None
    error: str
    chunk_count: int
    frame_count: int
    block_count: int


class Proxied:
    """A streamviz under test. Each call names its session, by which its record is found."""

    def __init__(self, server: Streamviz) -> None:
        self.server = server
        self.simulator = Simulator(int(server.environment["SIMULATOR_PORT"]))
        self.http = httpx.Client(base_url=server.base_url, timeout=120)
        self.sdk = openai.OpenAI(base_url=f"{server.base_url}/v1", api_key=server.api_key, max_retries=0)
        self.calls: list[Call] = []
        self._database = psycopg.connect(server.environment["DATABASE_URL"], autocommit=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self.http, self.sdk, self._database):
            each.close()
        self.simulator.__exit__()

    def hang_up(self) -> None:
        """End all calls that were started in the background and are still running."""
        for call in self.calls:
            call.hang_up()
        self.calls.clear()

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement on streamviz's database."""
        cursor = self._database.execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    def post(self, body: Any, path: str = "/v1/chat/completions", **headers: str) -> Answer:
        """Send a request with the API key and read the whole answer, including errors."""
        with self.posting(body, path, **headers) as response:
            pieces: list[bytes] = []
            with suppress(httpx.RemoteProtocolError):
                pieces.extend(response.iter_raw())
            return Answer(response.status_code, response.headers, b"".join(pieces))

    @contextmanager
    def posting(self, body: Any, path: str = "/v1/chat/completions", **headers: str) -> Iterator[httpx.Response]:
        """Send a request and leave the answer's body to the caller."""
        sent = {"authorization": f"Bearer {self.server.api_key}"} | {k.replace("_", "-"): v for k, v in headers.items()}
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        with self.http.stream("POST", path, headers=sent, **content) as response:
            yield response

    def ask(self, model: str, session: str, *, stream: bool = True, **more: Any) -> Answer:
        """Call a chat model of the simulator, in a session of this name."""
        body = {"model": f"sim/{model}", "messages": MESSAGES, "stream": stream, **more}
        return self.post(body, x_session_id=session)

    def sent_upstream(self, answer: Answer) -> bytes:
        """What the simulator reports to have sent for this answer."""
        return self.simulator.get(f"/_sent/{answer.headers['x-simulator-request']}")

    def asked_upstream(self, answer_headers: Any) -> dict[str, Any]:
        """The body of the request that the simulator got for an answer with these headers."""
        [found] = self.requests_upstream(answer_headers)
        body: dict[str, Any] = found["body"]
        return body

    def requests_upstream(self, answer_headers: Any) -> list[dict[str, Any]]:
        """The requests that the simulator got for an answer with these headers."""
        asked = self.simulator.get_json("/_requests")["requests"]
        return [each for each in asked if each["id"] == answer_headers["x-simulator-request"]]

    def open_upstream(self) -> list[dict[str, Any]]:
        """The simulator's responses that have not ended."""
        return [each for each in self.simulator.get_json("/_open")["responses"] if each["open"]]

    def recorded(self, session: str) -> Recorded:
        """The record of a session's only stream, once it has ended there."""

        def look() -> Recorded | None:
            rows = [Recorded(*row) for row in self.query(STREAM, session)]
            assert len(rows) <= 1, rows
            return rows[0] if rows and rows[0].outcome else None

        found: Recorded = until(look)
        return found

    def chunks(self, stream: Recorded) -> list[bytes]:
        """The upstream tape."""
        rows = self.query("SELECT seq, raw FROM records_chunk WHERE stream_id = %s ORDER BY seq", stream.id)
        assert [seq for seq, _ in rows] == list(range(stream.chunk_count))
        return [bytes(raw) for _, raw in rows]

    def client_tape(self, stream: Recorded) -> bytes:
        """The bytes of all frames, in order."""
        [(tape,)] = self.query(CLIENT_TAPE, stream.id)
        return bytes(tape)

    def passed(self, stream: Recorded) -> list[int]:
        """The numbers of the chunks that the client got unchanged, in the order in which it got them."""
        return [seq for (seq,) in self.query(PASSED, stream.id)]

    def verdicts(self, stream: Recorded) -> list[tuple[Any, ...]]:
        """Policy, version, mode, decision and block of each verdict."""
        return self.query(
            "SELECT policy.name, version.number, verdict.mode, verdict.decision, verdict.ordinal"
            " FROM records_verdict verdict"
            " JOIN records_policyversion version ON version.id = policy_version_id"
            " JOIN records_policy policy ON policy.id = version.policy_id WHERE stream_id = %s ORDER BY verdict.number",
            stream.id,
        )

    def switch(self, policy: str, mode: str) -> int:
        """Switch a policy in the admin, as the administrator; returns the new version once it is in force."""
        [(pk,)] = self.query("SELECT id FROM records_policy WHERE name = %s", policy)
        page = "/admin/records/policy/"
        action = "switch_off" if mode == "off" else f"switch_to_{mode}"
        self.http.get(page)
        csrf = self.http.cookies["csrftoken"]
        form = {"action": action, "_selected_action": str(pk), "why": "A test.", "csrfmiddlewaretoken": csrf}
        assert self.http.post(page, data=form).status_code == 302
        [(found, version)] = self.query("SELECT mode, version FROM records_policy WHERE id = %s", pk)
        assert found == mode
        self.wait_for_version(policy, version)
        return int(version)

    def wait_for_version(self, policy: str, version: int) -> None:
        """Wait until a worker has that version of a policy in force."""
        until(lambda: self.query("SELECT id FROM records_worker WHERE (policies->>%s)::int = %s", policy, version))

    def verify(self) -> str:
        """The output of `manage.py verify`."""
        command = [sys.executable, "manage.py", "verify"]
        done = subprocess.run(command, cwd=ROOT, env=self.server.environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    def whole(self) -> int:
        """How many streams that are over `verify` checks and finds undamaged, once that is all of them: another may be
        stored meanwhile."""

        def checked() -> int:
            [(streams,)] = self.query("SELECT count(*) FROM records_stream WHERE outcome <> ''")
            return int(streams) if f"{streams:,} streams checked, 0 damaged" in self.verify() else 0

        return int(until(checked))

    def sign_in(self) -> None:
        """Sign in as the administrator, with the one-time link if no one has used it yet."""
        if self.server.cookies is None:
            assert self.http.get(self.server.sign_in_link).status_code == 200
            form = {"csrfmiddlewaretoken": self.http.cookies["csrftoken"]}
            assert self.http.post(self.server.sign_in_link, data=form).status_code == 302
            self.server.cookies = httpx.Cookies(self.http.cookies)
        self.http.cookies = self.server.cookies
