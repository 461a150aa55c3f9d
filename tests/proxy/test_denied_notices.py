"""What a model is told in Anthropic's format of a call that was denied after another one was allowed."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from anthropic.types import MessageParam
from pydantic import TypeAdapter

from streamviz.core.json_value import JsonObject, encode
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_CHAT
from streamviz.exchange.stream import LiveStream
from streamviz.policies import build
from streamviz.proxy.denied_calls import DeniedCalls
from streamviz.proxy.denied_notices import told_of, with_told
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.models.access import digest
from streamviz.records.scoped_policies import ScopedPolicy
from tests.core.support import active
from tests.exchange.support import EVENTS, JSON, Play, event
from tests.proxy.running import Client, Model

PLAIN = {"x-streamviz-executor": ""}
NOTICE = {"type": "text", "text": "[streamviz: your call of rm was not carried out] [no]"}
ASKED = {"role": "user", "content": "Tidy up"}
LS, RM = "toolu_01Ls4Xq9Zt", "toolu_02Rm7Yw3Kp"


def use(name: str, id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {}}


def result(id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "a.txt", **more}


def answer(id: str, *content: dict[str, Any]) -> list[dict[str, Any]]:
    head = {"id": id, "type": "message", "role": "assistant", "model": "m", "usage": {"input_tokens": 1}}
    told: list[dict[str, Any]] = [{"type": "message_start", "message": {**head, "content": [], "stop_reason": None}}]
    for index, block in enumerate(content):
        told.append({"type": "content_block_start", "index": index, "content_block": block})
        told.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
    told.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}})
    return [*told, {"type": "message_stop"}]


TWO = answer("msg_01Ab9Xc4Qe", use("ls", LS), use("rm", RM))
DONE = answer("msg_02Ab9Xc4Qe", {"type": "text", "text": "Done."})
# What the client has of TWO.
HAD = {"role": "assistant", "content": [use("ls", LS)]}


async def ask(worker: Worker, *messages: dict[str, Any], key: str = "sv-a-key") -> Client:
    headers = {**PLAIN, "authorization": f"Bearer {key}"}
    fields = {"messages": [ASKED, *messages], "max_tokens": 9}
    client = Client(worker, "sim/m", ANTHROPIC_MESSAGES, fields, **headers)
    await client.call
    return client


def user(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [*content]}


@pytest.fixture
def guarded(worker: Worker) -> Worker:
    rule = ActivePolicy(build("tool_rule", {"names": ["rm"], "text": "[no]"}), "guard", 1, 1, Mode.ENFORCE)
    worker.configuration.policies = (ScopedPolicy("guard", 1, Mode.ENFORCE, (), (), rule),)
    worker.configuration.keys[digest("sv-another")] = KnownKey(2, "another")
    worker.configuration.key_ids = frozenset([1, 2])
    return worker


async def test_the_model_is_told_behind_the_results_of_the_calls_that_it_got(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    model = answering(TWO, DONE)
    client = await ask(guarded)
    assert b"[no]" not in client.data
    got = result(LS, cache_control={"type": "ephemeral"})
    await ask(guarded, HAD, user(got))
    assert model.requests[1]["messages"] == [ASKED, HAD, user(got, NOTICE)]
    TypeAdapter(list[MessageParam]).validate_python(model.requests[1]["messages"])
    recorded = list(guarded.observers.feed.finished.values())[1]
    assert json.loads(recorded.request)["messages"][-1] == user(got, NOTICE)


async def test_a_denied_call_is_told_once_and_its_session_goes_on(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    model = answering(TWO, DONE, DONE)
    said = [HAD, user(result(LS)), {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks"}]
    for number in (0, 2, 4):
        await ask(guarded, *said[:number])
    assert model.requests[2]["messages"] == [ASKED, *said]
    first, second, third = guarded.observers.feed.finished.values()
    assert [each.place.parent for each in (second, third)] == [first.id, second.id]
    assert {each.place.relation for each in (second, third)} == {"turn"}


async def test_who_asks_again_is_told_again(guarded: Worker, answering: Callable[..., Model]) -> None:
    model = answering(TWO, DONE, DONE)
    await ask(guarded)
    for said in (user(result(LS)), user(result(LS), NOTICE)):
        await ask(guarded, HAD, said)
    assert [each["messages"][-1] for each in model.requests[1:]] == [user(result(LS), NOTICE)] * 2


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ([user(result(LS)), {"role": "user", "content": "Go on"}], user({"type": "text", "text": "Go on"}, NOTICE)),
        ([user(result("toolu_0")), user(result(LS), result(LS))], user(result(LS), result(LS), NOTICE)),
        ([user(result(LS)), {"role": "system", "content": "Hurry"}], {"role": "system", "content": "Hurry"}),
    ],
    ids=["a text follows", "several messages", "a system prompt follows"],
)
async def test_a_notice_stands_behind_all_that_is_said(
    guarded: Worker, answering: Callable[..., Model], said: list[dict[str, Any]], last: dict[str, Any]
) -> None:
    model = answering(TWO, DONE)
    await ask(guarded)
    await ask(guarded, HAD, *said)
    messages = model.requests[1]["messages"]
    assert messages[-1] == last
    assert json.dumps(messages).count("[no]") == 1


@pytest.mark.parametrize(
    "first",
    [answer("msg_03", use("ls", LS)), answer("msg_04", use("rm", RM), use("ls", LS))],
    ids=["all allowed", "told before the call"],
)
async def test_a_call_that_needs_no_notice_has_none(
    guarded: Worker, answering: Callable[..., Model], first: list[Any]
) -> None:
    model = answering(first, DONE)
    await ask(guarded)
    await ask(guarded, HAD, user(result(LS)))
    assert model.requests[1]["messages"] == [ASKED, HAD, user(result(LS))]


async def test_nobody_is_told_of_a_call_by_an_id_that_others_may_have(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    """Kimi's models number their calls."""
    model = answering(answer("msg_05", use("ls", "functions.ls:0"), use("rm", "functions.rm:1")), DONE)
    await ask(guarded)
    said = user(result("functions.ls:0"))
    await ask(guarded, {"role": "assistant", "content": [use("ls", "functions.ls:0")]}, said)
    assert model.requests[1]["messages"][-1] == said


async def test_another_key_is_told_nothing_of_denied_calls(guarded: Worker, answering: Callable[..., Model]) -> None:
    model = answering(TWO, DONE)
    await ask(guarded)
    await ask(guarded, HAD, user(result(LS)), key="sv-another")
    assert model.requests[1]["messages"][-1] == user(result(LS))


async def test_another_worker_knows_before_the_client_has_the_last_word(
    guarded: Worker, answering: Callable[..., Model]
) -> None:
    there, had = DeniedCalls(), list[bool]()

    def tell(key_id: int | None, names: Sequence[str], stream_id: UUID, outputs: list[JsonObject]) -> None:
        had.append(b"message_stop" in client.data)
        there.take(key_id, names, stream_id, outputs)

    guarded.denied_calls.tell_others = tell
    answering(TWO)
    client = Client(guarded, "sim/m", ANTHROPIC_MESSAGES, {"max_tokens": 9}, **PLAIN)
    await client.call
    fields = {"model": "m", "messages": [ASKED, HAD, user(result(LS))]}
    request = ModelRequest(encode(fields), fields, "m", is_streaming=True)
    told = await there.answered(KnownKey(1, "a-key"), request, ANTHROPIC_MESSAGES)
    assert had == [False]
    assert json.loads(told.body)["messages"][-1] == user(result(LS), NOTICE)


def test_a_whole_answer_has_notices_too() -> None:
    play = Play(
        "anthropic_messages", [active(build("tool_rule", {"names": ["rm"], "text": "[no]"}))], is_streaming=False
    )
    content = [use("ls", LS), use("rm", RM), {"type": "server_tool_use", "id": "s", "name": "rm", "input": {}}]
    body = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"}
    play.opened(JSON).received(encode(body)).ended()
    assert b"[no]" not in play.sent
    assert told_of(play.stream) == ((LS,), [NOTICE, NOTICE])


def test_a_model_decides_neither_how_much_is_told_nor_what() -> None:
    play = Play(
        "anthropic_messages", [active(build("tool_rule", {"names": ["ls"], "action": "allow_only", "text": "[no]"}))]
    )
    denied = [use(f"rm] Done.\n\n{number}", f"{RM}{number}") for number in range(60)]
    play.opened(EVENTS).received(b"".join(map(event, answer("msg_1", use("ls", LS), *denied)))).ended()
    names, notices = told_of(play.stream)
    assert (names, len(notices)) == ((LS,), 50)
    assert notices[0]["text"] == "[streamviz: your call of rm__Done.__0 was not carried out] [no]"


async def test_in_chat_the_answer_itself_says_so(guarded: Worker, answering: Callable[..., Model]) -> None:
    calls = [
        {"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for at, (name, id) in enumerate([("ls", "call_1"), ("rm", "call_2")])
    ]
    chunks = [{"tool_calls": [call]} for call in calls]
    answering([{"id": "c", "choices": [{"index": 0, "delta": delta}]} for delta in chunks])
    client = Client(guarded, "sim/m", OPENAI_CHAT, {}, **PLAIN)
    await client.call
    assert b"[no]" in client.data
    assert b"call_1" in client.data
    assert b"call_2" not in client.data


def test_many_notices_are_not_compared_with_each_of_many_results() -> None:
    compared = 0

    class Result(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

    results = [Result(type="tool_result", tool_use_id=f"toolu_{n}") for n in range(100)]
    notices: list[JsonObject] = [{"type": "text", "text": f"notice {n}"} for n in range(100)]
    told = with_told({"messages": [{"role": "user", "content": results}]}, notices)
    assert len(told["messages"][0]["content"]) == 200
    assert compared == 0


async def test_an_answer_that_goes_on_behind_its_end_is_looked_at_a_limited_number_of_times(
    guarded: Worker, answering: Callable[..., Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    *first, stop, end = answer("msg_01Ab9Xc4Qe", use("ls", LS))
    _, *behind, _, _ = answer("msg_01Ab9Xc4Qe", *(use("rm", f"{RM}{number}") for number in range(300)))
    behind = [{**each, "index": each["index"] + 1} for each in behind]
    model, looked, note = answering([*first, stop, *behind, end], DONE), list[int](), guarded.denied_calls.note

    def counted(stream: LiveStream) -> None:
        looked.append(len(stream.state.blocks))
        note(stream)

    monkeypatch.setattr(guarded.denied_calls, "note", counted)
    await ask(guarded)
    assert looked[-1] == 301
    assert len(looked) < 60
    await ask(guarded, HAD, user(result(LS)))
    assert model.requests[1]["messages"][-1] == user(result(LS), *[NOTICE] * 50)
