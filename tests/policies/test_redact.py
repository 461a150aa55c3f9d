"""redact: secrets and personal data are masked wherever they come, and nothing of them is kept."""

import json
import random

import pytest

from streamviz.core.events import BlockKind
from streamviz.core.policy import Decision, Verdict
from streamviz.core.request import ModelCall
from streamviz.policies import build
from tests.core.support import Run, active, call, calls, chunks, delta, told
from tests.policies.support import block, context, judge, said

KEY = "sk-proj-" + "Ab1_" * 12
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA\n" * 100 + "-----END RSA PRIVATE KEY-----"
REAL = {
    "api key": [KEY, "AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1B2" * 9, "AIza" + "x" * 35, "xoxb-123456789012-abcdef"],
    "private key": [PEM],
    "web token": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"],
    "e-mail": ["bob.builder+x@example.co.uk"],
    "card": ["4111 1111 1111 1111", "5500-0055-5555-5559", "378282246310005"],
    "iban": ["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000"],
    "ssn": ["536-90-4399"],
    "ip address": ["192.168.17.4", "2001:db8:0:0:0:0:2:1", "fe80::1"],
}
HARMLESS = ["4111 1111 1111 1112", "GB82 WEST 1234 5698 7654 33", "000-12-3456", "999.1.1.1", "sk-short",
            "version 1.2.3", "a@b", "task-list and ask-me-anything-about-everything", "12:30:45",
            "0000 0000 0000 0000"]  # fmt: skip


@pytest.mark.parametrize(("kind", "secret"), [(kind, secret) for kind, secrets in REAL.items() for secret in secrets])
async def test_it_masks(kind: str, secret: str) -> None:
    it = await said("redact", {}, "It is ", secret, ", keep it.")
    assert told(it.client_state) == [("content", f"It is [{kind} removed], keep it.")]
    [judgement] = it.context.judgements
    assert judgement.verdict.evidence["counts"] == {kind: 1}
    assert secret not in repr(judgement)


@pytest.mark.parametrize("text", HARMLESS)
async def test_it_leaves_alone(text: str) -> None:
    it = await said("redact", {}, f"It is {text}, keep it.")
    assert told(it.client_state) == [("content", f"It is {text}, keep it.")]


async def test_a_secret_split_over_twenty_chunks() -> None:
    for secret in (KEY, PEM):
        cuts = sorted(random.Random(1).sample(range(1, len(secret)), 19))
        pieces = [secret[start:end] for start, end in zip([0, *cuts], [*cuts, len(secret)], strict=True)]
        assert len(pieces) == 20
        it = await said("redact", {}, "A ", *pieces, " Z")
        assert "removed] Z" in told(it.client_state)[0][1]
        joined = "".join(block.text for block in it.client_state.blocks)
        assert not any(piece in joined for piece in pieces if len(piece) > 3)


async def test_a_secret_that_the_end_cuts_off_is_masked_too() -> None:
    it = await said("redact", {}, "A ", PEM[:900])
    assert told(it.client_state) == [("content", "A [private key removed]")]


async def test_arguments_are_masked_and_stay_json() -> None:
    arguments = json.dumps({"to": "bob@example.com", "n": 4111111111111111, "list": [{"k": KEY}], "ok": True, "x": 1})
    escaped = arguments.replace("bob@", "b\\u006fb@")
    stream = chunks(calls(call(0, "x", "send", escaped[:40])), calls(call(0, arguments=escaped[40:])),
                    delta(finish="tool_calls"), "[DONE]")  # fmt: skip
    it = await Run([active(build("redact", {}))]).finish(stream)
    [(_, id, name, sent)] = told(it.client_state)
    assert (id, name) == ("x", "send")
    assert json.loads(sent) == {
        "to": "[e-mail removed]", "n": "[card removed]", "list": [{"k": "[api key removed]"}], "ok": True, "x": 1,
    }  # fmt: skip
    assert it.client_state.finish_reason == "tool_calls"
    assert KEY.encode() not in it.tape
    [judgement] = it.context.judgements
    assert judgement.verdict.evidence["counts"] == {"e-mail": 1, "card": 1, "api key": 1}


def test_arguments_that_are_no_json_are_masked_as_text() -> None:
    verdict = judge(build("redact", {}), block(f'{{"k": "{KEY}', name="f"))
    assert verdict.text == '{"k": "[api key removed]'
    assert judge(build("redact", {}), block('{"a": 1}', name="f")).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("format", "fields"),
    [
        ("openai_chat", {"messages": [{"role": "user", "content": [{"type": "text", "text": f"key {KEY}"}]}]}),
        ("anthropic_messages", {"system": f"mail bob@example.com, {KEY}", "messages": []}),
        ("openai_responses", {"input": f"key {KEY}", "instructions": "none"}),
    ],
)
def test_requests_are_masked(format: str, fields: dict[str, object]) -> None:
    policy = build("redact", {})
    verdict = policy.on_request(ModelCall(format, {"model": "m", **fields}), context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.REPLACE
    assert KEY not in repr(verdict)
    assert verdict.request is not None
    assert verdict.request["model"] == "m"


def test_it_looks_for_what_it_was_told_and_where() -> None:
    policy = build("redact", {"find": ["e-mail"], "in": ["tool_call"], "mask": "<{kind}>"})
    assert judge(policy, block(f'["bob@example.com", "{KEY}"]')).text == f'["<e-mail>", "{KEY}"]'
    assert not policy.watches(block(kind=BlockKind.CONTENT))
    assert policy.on_request(ModelCall("openai_chat", {"messages": [{"content": KEY}]}), context()) is None


def test_what_nobody_reads_in_a_request_stays_as_it_is_and_in_arguments_does_not() -> None:
    policy = build("redact", {})
    parts = [
        {"type": "thinking", "thinking": "t", "signature": f"a-{KEY}"},
        {"type": "image", "source": {"type": "base64", "data": f"a/{KEY}"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,a/{KEY}"}},
        {"type": "input_audio", "input_audio": {"data": f"a/{KEY}", "format": "wav"}},
    ]
    request = {"messages": [{"role": "user", "content": parts}]}
    verdict = policy.on_request(ModelCall("openai_chat", request), context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.ALLOW
    text = {"type": "document", "source": {"type": "text", "data": KEY}}
    masked = policy.on_request(ModelCall("anthropic_messages", {"messages": [{"content": [text, *parts]}]}), context())
    assert isinstance(masked, Verdict)
    assert masked.evidence == {"counts": {"api key": 1}}
    for hidden in ({"signature": KEY}, {"type": "base64", "data": KEY}, {"url": f"data:x;base64,{KEY}"}):
        assert KEY not in judge(policy, block(json.dumps(hidden), name="f")).text


@pytest.mark.parametrize(
    "arguments", [f'{{"k": "{KEY}", "k": "x"}}', f'{{"k": "x", "k": "{KEY}"}}', f'{{"k": "{KEY}"', f'[1, "{KEY}"'],
)  # fmt: skip
def test_arguments_that_clients_may_read_differently_are_masked_as_text(arguments: str) -> None:
    policy = build("redact", {})
    assert judge(policy, block(arguments, name="f")).text == arguments.replace(KEY, "[api key removed]")
    with pytest.raises(ValueError, match="cannot be masked"):
        judge(policy, block(arguments.replace("A", "\\u0041"), name="f"))


def test_more_than_can_be_looked_at_in_time_is_a_failure() -> None:
    policy = build("redact", {})
    mails = json.dumps({"to": ["a@b.co"] * 20_000})
    with pytest.raises(ValueError, match="more than 10000 places"):
        judge(policy, block(mails, name="f"))
    numbers = json.dumps({"list": list(range(200_000))})
    assert judge(policy, block(numbers, name="f")).decision is Decision.ALLOW
