"""Requests that continue an answer stored by the provider, of which the client did not get all calls."""

import asyncio
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from streamviz.core.json_value import encode
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import OPENAI_RESPONSES
from streamviz.policies import build
from streamviz.proxy import denied_calls
from streamviz.proxy.denied_outputs import outputs_of
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.ids import uuid7
from streamviz.records.models.access import digest
from streamviz.records.scoped_policies import ScopedPolicy
from tests.core.support import active
from tests.exchange.support import JSON, Play
from tests.proxy.running import Client, Model, held

OUTPUT = {"type": "function_call_output", "call_id": "call_rm", "output": "[no]"}
GOT = {"type": "function_call_output", "call_id": "call_ls", "output": "a.txt"}
ASKED = {"role": "user", "content": "Hi"}
PLAIN = {"x-streamviz-executor": ""}
KEY = KnownKey(1, "a-key")


def call(of: str, type: str = "function_call", **fields: Any) -> dict[str, Any]:
    own = fields or {"name": of, "arguments": "{}"}
    return {"id": f"fc_{of}", "type": type, "call_id": f"call_{of}", "status": "completed", **own}


def answer(id: str, *items: dict[str, Any]) -> list[dict[str, Any]]:
    whole = {"id": id, "object": "response", "created_at": 1, "model": "m"}
    told: list[dict[str, Any]] = [{"type": "response.created", "response": {**whole, "output": []}}]
    for place, item in enumerate(items):
        told.append({"type": "response.output_item.added", "output_index": place, "item": item})
        told.append({"type": "response.output_item.done", "output_index": place, "item": item})
    told.append({"type": "response.completed", "response": {**whole, "status": "completed", "output": list(items)}})
    return [{**each, "sequence_number": number} for number, each in enumerate(told)]


async def ask(worker: Worker, *, key: str = "sv-a-key", **fields: Any) -> Client:
    headers = {**PLAIN, "authorization": f"Bearer {key}"}
    client = Client(worker, "sim/m", OPENAI_RESPONSES, fields, **headers)
    await client.call
    return client


@pytest.fixture
def guarded(worker: Worker) -> Worker:
    denied = ["rm", "shell", "local_shell", "computer", "patch", "apply_patch", "tool_search", "drop_table"]
    parameters = {"names": denied, "text": "[no]"}
    rule = ActivePolicy(build("tool_rule", parameters), "guard", 1, 1, Mode.ENFORCE)
    worker.configuration.policies = (ScopedPolicy("guard", 1, Mode.ENFORCE, (), (), rule),)
    worker.configuration.keys[digest("sv-another")] = KnownKey(2, "another")
    worker.configuration.key_ids = frozenset([1, 2])
    return worker


async def test_the_provider_is_told_that_a_denied_call_was_not_carried_out(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    model = answering(answer("resp_1", call("ls"), call("rm")), answer("resp_2"), answer("resp_3"))
    client = await ask(guarded)
    assert b"call_rm" not in client.data
    await ask(guarded, previous_response_id="resp_1", input=[GOT])
    assert model.requests[1]["input"] == [OUTPUT, GOT]
    await ask(guarded, previous_response_id="resp_1", input="Go on")
    assert model.requests[2]["input"] == [OUTPUT, {"role": "user", "content": "Go on"}]
    recorded = list(guarded.observers.feed.finished.values())[1]
    assert b"call_rm" in recorded.request


async def test_what_else_is_asked_stays_as_it_is(guarded: Worker, answering: Callable[..., Model]) -> None:
    model = answering(answer("resp_1", call("rm")), *(answer(f"resp_{at}") for at in range(2, 5)))
    await ask(guarded)
    told = [{**OUTPUT, "output": "by the client"}]
    await ask(guarded, previous_response_id="resp_1", input=told)
    await ask(guarded, previous_response_id="resp_2")
    await ask(guarded, key="sv-another", previous_response_id="resp_1")
    assert [each["input"] for each in model.requests[1:]] == [told, [ASKED], [ASKED]]


async def test_a_denied_call_in_a_conversation_is_told_once_when_that_goes_on(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    model = answering(answer("resp_1", call("rm")), answer("resp_2"), answer("resp_3"))
    await ask(guarded, conversation="conv_1")
    await ask(guarded, conversation={"id": "conv_1"})
    await ask(guarded, conversation="conv_1")
    assert [each["input"] for each in model.requests[1:]] == [[OUTPUT, ASKED], [ASKED]]


@pytest.mark.parametrize("end", ["response.failed", ""], ids=["failed", "broken off"])
async def test_what_the_provider_does_not_add_to_its_conversation_has_no_output_there(
    guarded: Worker, answering: Callable[..., Model], end: str
) -> None:
    *told, last = answer("resp_1", call("ls"), call("rm"))
    failed = {**last, "type": end, "response": {**last["response"], "status": "failed"}}
    model = answering([*told, *([failed] if end else [])], answer("resp_2"))
    await ask(guarded, conversation="conv_1")
    await ask(guarded, conversation="conv_1")
    assert model.requests[1]["input"] == [ASKED]


async def test_a_conversation_that_has_gone_on_when_an_answer_in_it_ends_is_told_no_more(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    goes_on = asyncio.Event()
    model = answering([*answer("resp_1", call("rm")), goes_on], answer("resp_2"), answer("resp_3"))
    first = asyncio.ensure_future(ask(guarded, conversation="conv_1"))
    running = guarded.observers.feed.running
    while not any(stream.state.finish_reason for stream in running.values()):
        await asyncio.sleep(0)
    await ask(guarded, conversation="conv_1")
    goes_on.set()
    await first
    await ask(guarded, conversation="conv_1")
    assert [each["input"] for each in model.requests[1:]] == [[OUTPUT, ASKED], [ASKED]]


async def test_a_call_that_nobody_decided_on_before_its_client_left_has_an_output_too(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    [rule] = guarded.configuration.policies
    assert rule.active is not None
    asks = replace(rule.active, by_hand=ByHand(600, Decision.DENY))
    guarded.configuration.policies = (ScopedPolicy("guard", 1, Mode.ENFORCE, (), (), asks),)
    behind = asyncio.Event()
    model = answering([*answer("resp_1", call("ls"), call("rm"), call("mv")), behind], answer("resp_2"))
    fields = {"conversation": "conv_1"}
    client = Client(guarded, "sim/m", OPENAI_RESPONSES, fields, **PLAIN)
    stream = await held(guarded)
    while not stream.state.finish_reason:
        await asyncio.sleep(0)
    client.leave()
    await client.call
    await ask(guarded, conversation="conv_1", input=[GOT])
    *ours, got = model.requests[1]["input"]
    assert got == GOT
    assert [each["call_id"] for each in ours] == ["call_rm", "call_mv"]


async def test_another_worker_knows_of_denied_calls(guarded: Worker, answering: Callable[..., Model]) -> None:
    there, told = denied_calls.DeniedCalls(), []
    guarded.denied_calls.tell_others = lambda *each: told.append(each)
    answering(answer("resp_1", call("rm")), answer("resp_2"), answer("resp_3"))
    for wanted in ([OUTPUT, ASKED], [ASKED]):
        await ask(guarded, conversation="conv_1")
        while told:
            there.take(*told.pop())
        fields = {"model": "m", "input": [ASKED], "conversation": "conv_1"}
        request = ModelRequest(encode(fields), fields, "m", is_streaming=True)
        assert (await there.answered(KEY, request, OPENAI_RESPONSES)).fields["input"] == wanted
    await ask(guarded, conversation="conv_1")
    assert told == [], "what says nothing new is not told"


async def test_another_worker_knows_before_the_client_has_the_last_word(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    had: list[bool] = []
    guarded.denied_calls.tell_others = lambda *each: had.append(b"response.completed" in client.data)
    answering(answer("resp_1", call("rm")))
    client = Client(guarded, "sim/m", OPENAI_RESPONSES, {}, **PLAIN)
    await client.call
    assert had == [False]


async def test_what_is_not_known_here_is_asked_of_the_record_once(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    asked: list[tuple[str, str]] = []

    async def look_up(key: KnownKey, name: str) -> denied_calls.Found | None:
        asked.append((key.name, name))
        return (uuid7(), [OUTPUT]) if name == "resp_0" else None

    guarded.denied_calls.look_up = look_up
    model = answering(answer("resp_1"), answer("resp_2"), answer("resp_3"), answer("resp_4"))
    for named in ("resp_0", "resp_0", "resp_1", "resp_x"):
        await ask(guarded, previous_response_id=named)
    assert [each["input"] for each in model.requests] == [[OUTPUT, ASKED]] * 2 + [[ASKED]] * 2
    assert asked == [("a-key", "resp_0"), ("a-key", "resp_x")]


async def test_what_the_record_did_not_know_yet_is_asked_of_it_again(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    """Postgres may have been down, or the writer behind."""
    said: list[denied_calls.Found | None] = [None, (uuid7(), [OUTPUT])]

    async def look_up(key: KnownKey, name: str) -> denied_calls.Found | None:
        return said.pop(0)

    guarded.denied_calls.look_up = look_up
    model = answering(answer("resp_1"), answer("resp_2"))
    for _ in range(2):
        await ask(guarded, previous_response_id="resp_0")
    assert [each["input"] for each in model.requests] == [[ASKED], [OUTPUT, ASKED]]


async def test_others_are_told_of_no_name_that_nobody_keeps(guarded: Worker, answering: Callable[..., Model]) -> None:
    told: list[tuple[Any, ...]] = []
    guarded.denied_calls.tell_others = lambda *each: told.append(each)
    answering(answer("resp_1", call("rm")))
    await ask(guarded, conversation="c" * 1_000)
    assert [[*names] for _, names, *_ in told] == [["resp_1"]]


async def test_what_is_remembered_is_bounded_by_calls(
    guarded: Worker, answering: Callable[..., Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(denied_calls, "_REMEMBERED", 5)
    two = (call("rm"), {**call("rm"), "id": "fc_2", "call_id": "call_2"})
    model = answering(answer("resp_1", call("rm")), *(answer(f"resp_{at}", *two) for at in (2, 3)), *[answer("")] * 3)
    for _ in range(3):
        await ask(guarded, conversation="c" * 1_000)
    for at in (1, 2, 3):
        await ask(guarded, previous_response_id=f"resp_{at}")
    assert [len(each["input"]) for each in model.requests] == [1, 1, 1, 1, 1, 3]


async def test_a_shell_at_the_provider_has_given_its_own_output(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    hosted = call("shell", "shell_call", action={"commands": ["ls"]})
    output = {"id": "sco_1", "type": "shell_call_output", "call_id": hosted["call_id"], "output": []}
    model = answering(answer("resp_1", hosted, output), answer("resp_2"))
    await ask(guarded)
    await ask(guarded, previous_response_id="resp_1")
    assert model.requests[1]["input"] == [ASKED]


@pytest.mark.parametrize("named", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}], ids=str)
async def test_a_client_may_go_on_before_the_stream_is_over(
    guarded: Worker, answering: Callable[..., Model], named: dict[str, str]
) -> None:
    goes_on = asyncio.Event()
    model = answering([*answer("resp_1", call("rm")), goes_on], answer("resp_2"))
    first = asyncio.ensure_future(ask(guarded, conversation="conv_1"))
    running = guarded.observers.feed.running
    while not any(stream.state.finish_reason for stream in running.values()):
        await asyncio.sleep(0)
    await ask(guarded, **named)
    goes_on.set()
    await first
    assert model.requests[1]["input"] == [OUTPUT, ASKED]


async def test_a_call_at_which_the_answer_was_halted_has_an_output_too(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    rule = ActivePolicy(build("limits", {"stream": {"tool_calls": 1}}), "limits", 1, 1, Mode.ENFORCE)
    guarded.configuration.policies = (ScopedPolicy("limits", 1, Mode.ENFORCE, (), (), rule),)
    model = answering(answer("resp_1", call("ls"), call("rm")), answer("resp_2"))
    await ask(guarded)
    await ask(guarded, previous_response_id="resp_1", input=[GOT])
    [ours, got] = model.requests[1]["input"]
    assert (ours["type"], ours["call_id"], got) == (OUTPUT["type"], OUTPUT["call_id"], GOT)


def test_of_a_whole_answer_all_calls_that_its_client_did_not_get_have_outputs() -> None:
    rule = active(build("limits", {"stream": {"tool_calls": 1}}), name="limits")
    play = Play("openai_responses", [rule], is_streaming=False).opened(JSON)
    play.received(encode(answer("resp_1", call("ls"), call("rm"), call("mv"))[-1]["response"])).ended()
    assert b"call_rm" not in play.sent
    outputs = {output["call_id"]: output["output"] for output in outputs_of(play.stream)}
    assert outputs == {
        "call_rm": "[Halted by policy limits.]",
        "call_mv": "[Not carried out: a policy halted the answer before it.]",
    }


def output_of(type: str, id: str = "call_x", **fields: Any) -> dict[str, Any]:
    return {"type": f"{type}_output", "call_id": id, **fields}


SEARCH = {"arguments": {"goal": "x"}, "execution": "client"}
APPROVAL = {"name": "drop_table", "arguments": "{}", "server_label": "db"}


@pytest.mark.parametrize(
    ("item", "outputs"),
    [
        (
            call("x", "custom_tool_call", name="patch", input="x"),
            [output_of("custom_tool_call", output="[no]")],
        ),
        (
            call("x", "shell_call", action={"commands": ["ls"]}),
            [
                output_of(
                    "shell_call",
                    output=[{"stdout": "", "stderr": "[no]", "outcome": {"type": "exit", "exit_code": 1}}],
                )
            ],
        ),
        (
            call("x", "local_shell_call", action={"type": "exec", "command": ["ls"], "env": {}}),
            [output_of("local_shell_call", output="[no]")],
        ),
        (
            call("x", "apply_patch_call", operation={"type": "delete_file", "path": "a"}),
            [output_of("apply_patch_call", status="failed", output="[no]")],
        ),
        (
            call("x", "tool_search_call", **SEARCH),
            [output_of("tool_search", execution="client", status="completed", tools=[])],
        ),
        (
            {"id": "mcpr_1", "type": "mcp_approval_request", **APPROVAL},
            [
                {
                    "type": "mcp_approval_response",
                    "approval_request_id": "mcpr_1",
                    "approve": False,
                    "reason": "[no]",
                }
            ],
        ),
    ],
    ids=["custom", "shell", "local shell", "patch", "search", "approval"],
)
async def test_calls_of_each_type_get_an_output_of_theirs(
    guarded: Worker, answering: Callable[..., Model], item: Any, outputs: Any
) -> None:
    model = answering(answer("resp_1", item), answer("resp_2"))
    await ask(guarded)
    await ask(guarded, previous_response_id="resp_1")
    [*told, _] = model.requests[1]["input"]
    assert told == outputs
    # The SDK's type for a local shell's output has `id`, while the API and its guide have `call_id`.
    for each in told if item["type"] != "local_shell_call" else ():
        TypeAdapter(ResponseInputItemParam).validate_python(each)


async def test_a_computer_gives_a_picture_with_nothing_in_it_and_the_reason_in_words(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    item = call("x", "computer_call", action={"type": "wait"}, pending_safety_checks=[])
    model = answering(answer("resp_1", item), answer("resp_2"))
    await ask(guarded)
    await ask(guarded, previous_response_id="resp_1")
    [output, said, _] = model.requests[1]["input"]
    assert (output["type"], output["call_id"]) == ("computer_call_output", "call_x")
    picture = b64decode(output["output"]["image_url"].removeprefix("data:image/png;base64,"))
    assert picture.startswith(b"\x89PNG")
    assert said == {"type": "message", "role": "developer", "content": "[no]"}


async def test_a_computer_whose_client_knows_of_the_call_is_told_nothing_of_a_denial(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    item = call("x", "computer_call", action={"type": "wait"}, pending_safety_checks=[])
    model = answering(answer("resp_1", item, call("rm")), answer("resp_2"))
    await ask(guarded)
    given = output_of("computer_call", output={"type": "computer_screenshot", "image_url": "data:,"})
    await ask(guarded, previous_response_id="resp_1", input=[given])
    assert model.requests[1]["input"] == [OUTPUT, given]


async def test_a_search_that_the_provider_made_itself_waits_for_no_output(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    item = {**call("x", "tool_search_call", arguments={"paths": ["a"]}), "id": "tsc_1", "call_id": None}
    model = answering(answer("resp_1", {**item, "execution": "server"}), answer("resp_2"))
    await ask(guarded)
    await ask(guarded, previous_response_id="resp_1")
    assert model.requests[1]["input"] == [ASKED]


async def test_a_call_without_an_id_has_no_output(guarded: Worker, answering: Callable[..., Model]) -> None:
    """A provider refuses a request with the output of a call that it does not know."""
    model = answering(answer("resp_1", {**call("rm"), "id": "", "call_id": ""}), answer("resp_2"))
    await ask(guarded)
    await ask(guarded, previous_response_id="resp_1", input=[ASKED])
    assert model.requests[1]["input"] == [ASKED]
