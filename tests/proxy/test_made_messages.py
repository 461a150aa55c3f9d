"""What clients send back of an answer with a denied call, in a form that OpenAI accepts."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from streamviz.core.json_value import decode, encode
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.core.wire import OPENAI_RESPONSES
from streamviz.policies import build
from streamviz.proxy.made_messages import with_made_in_place
from streamviz.proxy.requests import read_request
from streamviz.proxy.worker import Worker
from streamviz.records.models.streams import Relation
from streamviz.records.scoped_policies import ScopedPolicy
from tests.proxy.running import Model
from tests.proxy.test_denied_calls import GOT, answer, ask, call

THOUGHT: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "x"}
LATER = {**THOUGHT, "id": "rs_2"}
MADE: dict[str, Any] = {"id": "msg_made_1", "type": "message", "role": "assistant", "content": "[no]"}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_ls", "name": "ls", "arguments": "{}"}
TEXT: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": "a"}
APPROVAL: dict[str, Any] = {"id": "mcpr_1", "type": "mcp_approval_request", "name": "rm", "arguments": "{}"}
ASKED = {"role": "user", "content": "Hi"}
BETWEEN: dict[str, Any] = {"type": "agent_message", "author": "/root/a", "recipient": "/root", "content": []}
NAMED = [{"type": "item_reference", "id": id} for id in ("rs_1", "msg_made_1")]
DENIED: dict[str, Any] = {"type": "output_text", "text": "[A policy denied this.]", "annotations": []}
IN_WORDS = {**MADE, "status": "completed", "content": [DENIED]}


def placed(*items: dict[str, Any]) -> object:
    request = read_request(encode({"model": "m", "input": list(items)}), OPENAI_RESPONSES)
    assert decode(request.body) == request.fields
    return request.fields["input"]


@pytest.mark.parametrize(
    ("items", "want"),
    [
        ([ASKED, THOUGHT, MADE, ASKED], [ASKED, MADE, ASKED]),
        ([THOUGHT, MADE, CALL, GOT], [MADE, THOUGHT, CALL, GOT]),
        ([THOUGHT, CALL, MADE, GOT], [THOUGHT, CALL, MADE, GOT]),
        ([THOUGHT, TEXT, MADE, ASKED], [THOUGHT, TEXT, MADE, ASKED]),
        ([THOUGHT, MADE, LATER, CALL], [MADE, LATER, CALL]),
        ([THOUGHT, MADE, MADE], [MADE, MADE]),
        ([THOUGHT, TEXT, ASKED, MADE], [THOUGHT, TEXT, ASKED, MADE]),
        ([ASKED, *NAMED, ASKED], [ASKED, IN_WORDS, ASKED]),
        ([THOUGHT, MADE, APPROVAL], [MADE, THOUGHT, APPROVAL]),
        ([CALL, THOUGHT, MADE, GOT], [CALL, MADE, GOT]),
        ([THOUGHT, MADE, BETWEEN, CALL], [MADE, BETWEEN, CALL]),
    ],
    ids=[
        *("alone", "before a call", "behind a call", "behind a text", "twice", "two", "elsewhere", "by its id"),
        *("before a question", "before an output", "before another agent's words"),
    ],
)
def test_reasoning_stands_right_before_what_came_of_it(items: list[Any], want: list[Any]) -> None:
    assert placed(*items) == want


def test_a_request_without_a_message_of_ours_is_the_same() -> None:
    fields = {"model": "m", "input": [ASKED, THOUGHT, TEXT]}
    assert with_made_in_place(fields) is fields


async def test_a_conversation_goes_on_after_a_denied_call(worker: Worker, answering: Callable[..., Model]) -> None:
    rule = ActivePolicy(build("tool_rule", {"names": ["rm"], "text": "[no]"}), "guard", 1, 1, Mode.ENFORCE)
    worker.configuration.policies = (ScopedPolicy("guard", 1, Mode.ENFORCE, (), (), rule),)
    model = answering(answer("resp_1", THOUGHT, call("rm"), call("ls")), answer("resp_2"))
    client = await ask(worker)
    told = [json.loads(line[6:]) for line in client.data.decode().splitlines() if line.startswith("data: {")]
    output = told[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call"]
    await ask(worker, input=[ASKED, *output, GOT])
    thought, made, allowed = output
    assert model.requests[1]["input"] == [ASKED, made, thought, allowed, GOT]
    assert list(worker.observers.feed.finished.values())[1].place.relation == Relation.TURN
