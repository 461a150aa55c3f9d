"""What a stream may cost is reserved when it begins, and settled whatever happens to it."""

import asyncio
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from streamviz.core.context import SessionCounts
from streamviz.core.errors import RequestError
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Mode
from streamviz.core.wire import OPENAI_CHAT
from streamviz.live.feed import Feed
from streamviz.policies import build
from streamviz.proxy.calls import model_call
from streamviz.proxy.observers import Observers
from streamviz.proxy.spending import amounts_of
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from streamviz.records.recorder import AnyEntry, StreamOpened
from streamviz.records.scoped_policies import ScopedPolicy
from streamviz.records.tallies import Amounts, Entry, Used
from tests.executors.support import said
from tests.proxy.running import Client, Model, over
from tests.records.support import ROOM

KEY = "sv-a-key"


class Books:
    """The reservations, in a set; each waits until `answers` is set."""

    def __init__(self) -> None:
        self.reserved: set[uuid.UUID] = set()
        self.amounts: list[Amounts] = []
        self.was_asked = asyncio.Event()
        self.answers = asyncio.Event()

    async def enter(self, entry: Entry, amounts: Amounts, periods: object) -> list[Used]:
        self.reserved.add(entry.stream)
        self.amounts.append(amounts)
        self.was_asked.set()
        await self.answers.wait()
        return []

    def settle(self, stream: uuid.UUID, session: uuid.UUID, key: int | None, spent: SessionCounts) -> None:
        self.reserved.remove(stream)


class Full:
    """A record that fails at the beginning of a stream."""

    def append(self, entry: AnyEntry) -> None:
        if isinstance(entry, StreamOpened):
            raise OSError("no room")

    def flush(self) -> None:
        """Nothing to flush."""

    def has_lost(self, stream_id: object) -> bool:
        return False


@pytest.fixture
def worker(tmp_path: Path) -> Any:
    made = Worker()
    made.configuration.keys[digest(KEY)] = KnownKey(1, "a-key")
    made.configuration.key_ids = frozenset([1])
    made.configuration.routes["m"] = KnownRoute("openai/x", "http://127.0.0.1:1", "")
    made.journal = Journal(tmp_path, ROOM)
    made.observers = Observers(cast(Any, Full()), Feed())
    made.tallies = cast(Any, Books())
    limited(made, Mode.ENFORCE)
    yield made
    made.journal.close()


def limited(worker: Worker, mode: Mode, limit: str = "streams") -> None:
    """Limit all sessions, in this mode."""
    active = ActivePolicy(build("limits", {"session": {limit: 3}}), "limits", 1, 1, mode)
    worker.configuration.policies = (ScopedPolicy("limits", 1, mode, (), (), active),)


async def call(worker: Worker, **fields: object) -> None:
    body = json.dumps({"model": "m", "messages": [], **fields}).encode()
    events = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return events.pop()

    async def send(_: Any) -> None:
        pytest.fail("nothing is to be answered")

    headers = [(b"authorization", f"Bearer {KEY}".encode())]
    scope = {"type": "http", "method": "POST", "path": OPENAI_CHAT.path, "client": None, "headers": headers}
    await model_call(OPENAI_CHAT, worker, cast(Any, scope), receive, send)


async def test_what_fails_before_the_stream_is_open_leaves_nothing_reserved(worker: Worker) -> None:
    books = cast(Books, worker.tallies)
    books.answers.set()
    with pytest.raises(OSError, match="no room"):
        await call(worker)
    assert books.was_asked.is_set()
    assert not books.reserved


async def test_what_is_cancelled_while_it_reserves_leaves_nothing_reserved(worker: Worker) -> None:
    books = cast(Books, worker.tallies)
    task = asyncio.create_task(call(worker))
    await books.was_asked.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert not books.reserved


@pytest.mark.parametrize(("limit", "reserved"), [("output_tokens", Amounts(9, None)), ("cost", Amounts(None, None))])
async def test_what_costs_nobody_knows_what_is_without_bound_where_cost_is_limited(
    worker: Worker, limit: str, reserved: Amounts
) -> None:
    limited(worker, Mode.ENFORCE, limit)
    books = cast(Books, worker.tallies)
    books.answers.set()
    with pytest.raises(OSError, match="no room"):
        await call(worker, max_tokens=9)
    assert books.amounts == [reserved]


@pytest.mark.parametrize(
    ("rule", "reserved"),
    [({"set": {"max_tokens": 500}}, 500), ({"set": {"n": 5}}, 45), ({"drop": ["max_tokens"]}, None)],
    ids=["more", "several", "unbounded"],
)
async def test_what_is_reserved_is_what_policies_make_of_the_request(
    worker: Worker, answering: Callable[..., Model], rule: dict[str, Any], reserved: int | None
) -> None:
    worker.configuration.keys[digest(KEY)] = KnownKey(1, "a-key", may_choose_executor=True)
    worker.observers = Observers(worker.journal, Feed())
    changes = ActivePolicy(build("request_rule", rule), "changes", 2, 1, Mode.ENFORCE)
    worker.configuration.policies += (ScopedPolicy("changes", 1, Mode.ENFORCE, (), (), changes),)
    books = cast(Books, worker.tallies)
    books.answers.set()
    answering(said("Hi"))
    client = Client(worker, beside={"max_tokens": 9}, **{"x-streamviz-executor": "passthrough"})
    await over(client, worker)
    assert client.status == 200
    assert [amounts.output_tokens for amounts in books.amounts] == [9, reserved]
    assert not books.reserved


async def test_a_key_for_some_models_opens_no_other_to_a_tool_of_the_providers(worker: Worker) -> None:
    worker.configuration.keys[digest(KEY)] = KnownKey(1, "a-key", models=("m",))
    with pytest.raises(RequestError) as raised:
        await call(worker, tools=[{"type": "advisor_20260301", "model": "claude-opus-4-6"}])
    assert (raised.value.status, raised.value.param) == (403, "tools")
    assert "claude-opus-4-6" in raised.value.message


async def test_no_client_waits_for_a_shadow(worker: Worker) -> None:
    limited(worker, Mode.SHADOW)
    with pytest.raises(OSError, match="no room"):
        await asyncio.wait_for(call(worker), 30)
    assert not cast(Books, worker.tallies).was_asked.is_set()


@pytest.mark.parametrize(
    ("wire_format", "fields", "tokens"),
    [
        ("openai_chat", {"max_output_tokens": 1, "max_tokens": 50}, 50),
        ("openai_chat", {"max_completion_tokens": 50, "n": 3}, 150),
        ("openai_chat", {"max_completion_tokens": 50, "n": 3.0}, 150),
        ("openai_chat", {"max_tokens": 999_999_999, "n": 999_999_999}, 2**40),
        ("openai_chat", {"max_output_tokens": 1}, None),
        ("gemini", {"generationConfig": {"max_output_tokens": 50, "candidate_count": 8}}, 400),
        ("embeddings", {"input": "a"}, 0),
        ("openai_responses", {"max_tokens": 1, "max_completion_tokens": 1}, None),
        ("openai_responses", {"max_tokens": 1, "max_output_tokens": 50, "n": 3}, 50),
        ("anthropic_messages", {"max_completion_tokens": 1, "max_tokens": 50}, 50),
        ("anthropic_messages", {"max_output_tokens": 1}, None),
    ],
)
def test_what_bounds_an_answer_is_what_its_format_says(
    wire_format: str, fields: dict[str, Any], tokens: int | None
) -> None:
    assert amounts_of(ModelCall(wire_format, fields), "nobody-knows-it", "openai").output_tokens == tokens


async def test_a_request_that_names_other_models_is_refused(worker: Worker) -> None:
    with pytest.raises(RequestError) as raised:
        await call(worker, models=["anthropic/claude-opus-4"])
    assert (raised.value.status, raised.value.param) == (400, "models")
