"""A run whose calls are denied or refused: what happens to it, and what its client is told."""

import json
from collections.abc import Callable

import pytest

from streamviz.core.errors import UpstreamError
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.exchange.stream import LiveStream
from streamviz.policies import build
from streamviz.proxy.worker import Worker
from streamviz.records.scoped_policies import ScopedPolicy
from tests.executors.support import plan, said, use
from tests.proxy.running import Client, Model, over, thinking


def forbid(worker: Worker, pattern: str, role: str) -> None:
    """Deny requests with this pattern in a message of this role."""
    rule = build("request_rule", {"patterns": [{"pattern": pattern, "roles": [role]}]})
    active = ActivePolicy(rule, "words", 1, 1, Mode.ENFORCE)
    worker.configuration.policies = (ScopedPolicy("words", 1, Mode.ENFORCE, (), (), active),)


def run_of(worker: Worker) -> LiveStream:
    [run] = [stream for stream in worker.observers.feed.finished.values() if stream.executor]
    return run


@pytest.mark.parametrize(
    ("pattern", "role", "is_streaming", "status"),
    [("next_action", "system", True, 403), ("Go on", "user", False, 403), ("Go on", "user", True, 200)],
)
async def test_a_run_of_which_a_policy_denied_a_call_was_denied(
    worker: Worker, answering: Callable[..., Model], pattern: str, role: str, is_streaming: bool, status: int
) -> None:
    answering(said(plan("continue_thinking")), said(plan()), said("Done."))
    forbid(worker, pattern, role)
    client = Client(worker, beside={"stream": is_streaming})
    await over(client, worker)
    run, message = run_of(worker), "The request was denied by policy words."
    assert (client.status, run.outcome, run.error) == (status, "halted", message)
    told = client.data if status == 403 else client.data.rsplit(b"data: ", 2)[1]
    assert json.loads(told)["error"].items() >= {"message": message, "code": "denied_by_policy"}.items()


async def test_denied_tools_are_errors_of_their_calls_alone(worker: Worker, answering: Callable[..., Model]) -> None:
    uses = use("count_words", text="forbidden"), use("wait", seconds=0)
    model = answering(said(plan("use_tools", *uses)), said(plan()), said("Done."))
    forbid(worker, "forbidden", "user")
    client = Client(worker)
    await over(client, worker)
    assert (run_of(worker).outcome, "wait(" in thinking(client)) == ("completed", False)
    assert model.requests[1]["messages"][-1]["content"].count("denied by a policy") == 2
    assert b"Done." in client.data


BODY = {"message": "Slow down.", "type": "tokens", "code": "rate_limit_exceeded", "param": "tier"}
HEADERS = {"retry-after": "7", "x-should-retry": "true"}


@pytest.mark.parametrize("body", [json.dumps({"error": BODY}).encode(), b""])
async def test_a_refusal_of_a_call_tells_the_client_all_that_it_told(
    worker: Worker, answering: Callable[..., Model], body: bytes
) -> None:
    answering(UpstreamError(429, "Slow down.", kind="tokens", headers=HEADERS, body=body))
    client = Client(worker)
    await over(client, worker)
    assert (client.status, run_of(worker).outcome) == (429, "upstream_error")
    assert client.headers.items() >= HEADERS.items()
    expected = BODY if body else {**BODY, "code": None, "param": None}
    assert json.loads(client.data)["error"] == expected


async def test_an_error_amid_a_call_is_told_as_it_was(worker: Worker, answering: Callable[..., Model]) -> None:
    answering(said(plan()), [*said("Do")[:1], {"error": BODY}])
    client = Client(worker)
    await over(client, worker)
    told = json.loads(client.data.rsplit(b"data: ", 2)[1])["error"]
    assert {name: told[name] for name in ("message", "type", "code")} == {
        name: BODY[name] for name in ("message", "type", "code")
    }
