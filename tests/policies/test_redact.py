"""redact: secrets and personal data are masked wherever they occur, and not stored."""

import json
import random
from typing import Any

import pytest

from streamviz.core.events import BlockKind
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Verdict
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
async def test_it_masks_secrets_and_personal_data(kind: str, secret: str) -> None:
    it = await said("redact", {}, "It is ", secret, ", keep it.")
    assert told(it.client_state) == [("content", f"It is [{kind} removed], keep it.")]
    [judgement] = it.context.judgements
    assert judgement.verdict.evidence["counts"] == {kind: 1}
    assert secret not in repr(judgement)


@pytest.mark.parametrize("around", ["_{}_", "KEY_{}", '"\\n{}\\n"'])
@pytest.mark.parametrize("kind", ["api key", "web token"])
async def test_keys_are_found_behind_a_mark_or_an_escape(kind: str, around: str) -> None:
    for secret in REAL[kind]:
        it = await said("redact", {}, "It is ", around.format(secret))
        assert f"[{kind} removed]" in told(it.client_state)[0][1]
        assert secret[-12:] not in it.client_state.blocks[0].text


async def test_an_address_is_found_within_marks() -> None:
    it = await said("redact", {}, "It is _jane.roe@example.com_.")
    assert told(it.client_state) == [("content", "It is [e-mail removed].")]


@pytest.mark.parametrize(
    "text",
    [
        *HARMLESS,
        "_sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx_",
        "css_sk-fading-circle-of-many-colours-9",
        "library@2.0.rc1",
        "a@np.arange2(3)",
    ],
)
async def test_it_leaves_harmless_text_alone(text: str) -> None:
    it = await said("redact", {}, f"It is {text}, keep it.")
    assert told(it.client_state) == [("content", f"It is {text}, keep it.")]


async def test_a_secret_split_over_twenty_chunks_is_masked() -> None:
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


EVERYWHERE: list[dict[str, object]] = [
    {"tools": [{"type": "function", "function": {"name": "f", "description": f"Use {KEY}"}}]},
    {"tools": [{"name": "f", "input_schema": {"properties": {"a": {"default": KEY, "enum": [KEY]}}}}]},
    {"metadata": {"user_id": f"bob-{KEY}"}},
    {"metadata": {KEY: "x"}},
    {"user": KEY},
    {KEY: "x"},
    {"stop": [KEY]},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"description": KEY}}}},
    {"text": {"format": {"type": "json_schema", "schema": {"const": KEY}}}},
    {"mcp_servers": [{"url": "https://x", "authorization_token": KEY}]},
    {"extra_body": {"deep": [[{"a": KEY}]]}},
    {"tool_choice": {"type": "function", "function": {"name": KEY}}},
]


@pytest.mark.parametrize("fields", EVERYWHERE, ids=lambda fields: next(iter(fields)))
def test_every_text_of_a_request_is_masked(fields: dict[str, object]) -> None:
    request = {"model": "m", "messages": [], **fields}
    verdict = build("redact", {}).on_request(ModelCall("openai_chat", request), context())
    assert isinstance(verdict, Verdict)
    assert KEY not in json.dumps(verdict.request)
    assert "[api key removed]" in json.dumps(verdict.request)


def parts(type: str | None, *texts: str) -> list[dict[str, str]]:
    return [{"text": text} if type is None else {"type": type, "text": text} for text in texts]


@pytest.mark.parametrize(
    ("format", "type", "asked"),
    [
        ("openai_chat", "text", lambda said: {"messages": [{"role": "user", "content": said}]}),
        ("anthropic_messages", "text", lambda said: {"system": said}),
        ("anthropic_messages", "text", lambda said: {"messages": [{"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": said}]}]}),
        ("openai_responses", "input_text", lambda said: {"input": [{"role": "user", "content": said}]}),
        ("openai_responses", "input_text", lambda said: {"input": [
            {"type": "function_call_output", "call_id": "c", "output": said}]}),
        ("gemini", None, lambda said: {"contents": [{"role": "user", "parts": said}]}),
    ],
)  # fmt: skip
def test_a_secret_in_several_parts_of_a_message_is_masked(format: str, type: str | None, asked: Any) -> None:
    verdict = build("redact", {}).on_request(
        ModelCall(format, asked(parts(type, "It is ", KEY[:9], KEY[9:30], KEY[30:] + " here."))), context()
    )
    assert isinstance(verdict, Verdict)
    assert verdict.request == asked(parts(type, "It is ", "[api key removed]", " here."))
    assert verdict.evidence["counts"] == {"api key": 1}


def test_a_part_that_the_client_left_empty_stays() -> None:
    content = parts("text", "", KEY, "")
    asked = ModelCall("openai_chat", {"messages": [{"role": "user", "content": content}]})
    verdict = build("redact", {}).on_request(asked, context())
    assert isinstance(verdict, Verdict)
    masked = [{"role": "user", "content": parts("text", "", "[api key removed]", "")}]
    assert verdict.request == {"messages": masked}


def test_a_mention_in_a_part_of_its_own_is_not_taken_for_an_address() -> None:
    content = [{"type": "text", "text": text} for text in ("see user", "@app.route and", " the rest")]
    asked = ModelCall("openai_chat", {"messages": [{"role": "user", "content": content}]})
    verdict = build("redact", {}).on_request(asked, context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.ALLOW


def test_parts_that_are_not_joined_stay_as_they_are() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    for within in (picture, {"type": "thinking", "thinking": "x", "signature": "s"}):
        content = [{"type": "text", "text": KEY[:9]}, within, {"type": "text", "text": KEY[9:]}]
        asked = ModelCall("openai_chat", {"messages": [{"role": "user", "content": content}]})
        verdict = build("redact", {}).on_request(asked, context())
        assert isinstance(verdict, Verdict)
        assert verdict.decision is Decision.ALLOW


def test_what_says_how_to_answer_stays_what_it_is() -> None:
    settings = {"seed": 4111111111111112, "logit_bias": {"50256": -100}, "metadata": {"n": 1.5, "ok": True}}
    request = {"model": "a@example.com", "user": "b@example.com", **settings}
    verdict = build("redact", {}).on_request(ModelCall("openai_chat", request), context())
    assert isinstance(verdict, Verdict)
    assert verdict.request == {**request, "user": "[e-mail removed]"}


def test_it_says_what_may_be_kept_of_other_texts() -> None:
    assert build("redact", {}).kept(f"agent/1.0 {KEY}") == "agent/1.0 [api key removed]"
    assert build("redact", {"in": ["content"]}).kept(KEY) == KEY


def test_it_looks_for_what_it_was_told_and_where() -> None:
    policy = build("redact", {"find": ["e-mail"], "in": ["tool_call"], "mask": "<{kind}>"})
    assert judge(policy, block(f'{{"a": ["bob@example.com", "{KEY}"]}}')).text == f'{{"a": ["<e-mail>", "{KEY}"]}}'
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


def test_signed_thinking_that_would_be_masked_is_left_out_as_its_provider_refuses_it_changed() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"type": "thinking", "thinking": MAIL}}
    thought = {"type": "thinking", "thinking": "I am to write.", "signature": "c2lnbmVk"}
    told = {"type": "thinking", "thinking": f"I write to {MAIL}.", "signature": "c2lnbmVk"}
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    turns = [{"role": "assistant", "content": parts} for parts in ([thought], [thought, told, hidden, call])]
    verdict = build("redact", {}).on_request(ModelCall("anthropic_messages", {"messages": turns}), context())
    assert isinstance(verdict, Verdict)
    assert verdict.request is not None
    masked = {**call, "input": {"type": "thinking", "thinking": "[e-mail removed]"}}
    assert verdict.request["messages"] == [turns[0], {"role": "assistant", "content": [masked]}]


def test_a_turn_of_which_all_is_left_out_says_so_as_its_provider_refuses_one_without_content() -> None:
    told = {"type": "thinking", "thinking": f"I write to {MAIL}.", "signature": "c2lnbmVk"}
    routed = {"type": "reasoning.text", "text": f"I write to {MAIL}.", "signature": "c2lnbmVk"}
    turns = [{"role": "assistant", "content": [told]}, {"content": "Done.", "reasoning_details": [routed]}]
    verdict = build("redact", {}).on_request(ModelCall("anthropic_messages", {"messages": turns}), context())
    assert isinstance(verdict, Verdict)
    assert verdict.request is not None
    said = [{"type": "text", "text": "[thinking left out]"}]
    left = [{"role": "assistant", "content": said}, {"content": "Done.", "reasoning_details": []}]
    assert verdict.request["messages"] == left


MAIL = "a@b.de"
NOT_BYTES: list[dict[str, object]] = [
    {"content": f"data:x;base64, my mail is {MAIL}"},
    {"content": [{"type": "image_url", "image_url": {"url": f"data:x;base64, my mail is {MAIL}"}}]},
    {"content": [{"type": "file", "file": {"file_data": f"mail {MAIL}"}}]},
    {"content": [{"type": "text", "text": "t", "signature": MAIL}]},
    {"content": [{"type": "text", "text": "t", "signature": KEY}]},
    {"content": [{"type": "thinking", "thinking": "t", "signature": MAIL}]},
    {"content": [{"type": "tool_use", "input": {"source": {"type": "base64", "data": KEY}}}]},
    {"content": [{"type": "tool_use", "input": {"type": "thinking", "signature": KEY}}]},
    {"content": [{"type": "text", "data": KEY, "format": "wav"}]},
    {"content": [{"type": "base64", "data": KEY}]},
    {"content": "x", "encrypted_content": KEY},
    {"content": [{"type": "text", "text": "t", "encrypted_content": KEY}]},
    {"content": [{"type": "text", "text": "t", "file_data": KEY}]},
    {"content": [{"type": "text", "text": "t", "image_url": f"data:image/png;base64,{KEY}"}]},
    {"content": [{"type": "input_image", "image_url": KEY}]},
    {"content": [{"type": "image_url", "image_url": {"url": KEY}}]},
    {"type": "local_shell_call", "action": {"env": {"file_data": KEY}}},
    {"type": "shell_call", "action": {"type": "reasoning", "encrypted_content": KEY}},
    {"type": "apply_patch_call", "operation": {"type": "input_file", "file_data": KEY}},
    {"content": [{"type": "input_audio", "input_audio": {"data": f"my {MAIL}", "format": "wav"}}]},
]


@pytest.mark.parametrize("message", NOT_BYTES, ids=json.dumps)
def test_only_bytes_where_bytes_belong_are_nothing_to_read(message: dict[str, object]) -> None:
    asked = ModelCall("openai_chat", {"messages": [{"role": "user", **message}]})
    verdict = build("redact", {}).on_request(asked, context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.REPLACE
    assert not any(secret in json.dumps(verdict.request) for secret in (MAIL, KEY))


BYTES: list[dict[str, object]] = [
    {"type": "input_image", "image_url": f"data:image/png;base64,a/{KEY}=="},
    {"type": "input_file", "file_data": f"data:application/pdf;base64,a/{KEY}"},
    {"type": "file", "file": {"file_data": f"{KEY}\r\n{KEY}\r\n"}},
    {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": f"data:x;base64,{KEY}"}},
    {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{KEY}"}},
    {"type": "redacted_thinking", "data": KEY},
    {"type": "compaction", "encrypted_content": KEY},
    {"type": "web_search_tool_result", "content": [{"type": "web_search_result", "encrypted_content": KEY}]},
    {"type": "reasoning", "encrypted_content": KEY},
    {"type": "function", "extra_content": {"google": {"thought_signature": KEY}}},
]


@pytest.mark.parametrize("part", BYTES, ids=json.dumps)
def test_bytes_stay_as_they_are(part: dict[str, object]) -> None:
    verdict = build("redact", {}).on_request(ModelCall("openai_responses", {"input": [part]}), context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.ALLOW


GEMINIS_BYTES: list[dict[str, object]] = [
    {"inlineData": {"mimeType": "image/png", "data": f"a/{KEY}"}},
    {"inline_data": {"mime_type": "image/png", "data": f"a/{KEY}"}},
    {"text": "t", "thoughtSignature": KEY},
    {"functionCall": {"name": "f", "args": {}}, "thought_signature": KEY},
    {"functionResponse": {"name": "f", "response": {}, "parts": [{"inlineData": {"data": KEY}}]}},
]


@pytest.mark.parametrize("part", GEMINIS_BYTES, ids=json.dumps)
@pytest.mark.parametrize("field", ["contents", "systemInstruction", "system_instruction"])
def test_geminis_bytes_stay_as_they_are_too(field: str, part: dict[str, object]) -> None:
    asked = ModelCall("gemini", {field: [{"role": "user", "parts": [part]}]})
    verdict = build("redact", {}).on_request(asked, context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.ALLOW


@pytest.mark.parametrize("of", [{"functionCall": "args"}, {"functionResponse": "response"}], ids=str)
def test_what_geminis_tools_are_given_and_give_is_masked(of: dict[str, str]) -> None:
    ((call, member),) = of.items()
    hidden = {"inlineData": {"data": KEY}, "thoughtSignature": KEY, "n": 4111111111111111}
    asked = ModelCall("gemini", {"contents": [{"parts": [{call: {"name": "f", member: hidden}}]}]})
    verdict = build("redact", {}).on_request(asked, context())
    assert isinstance(verdict, Verdict)
    assert verdict.evidence == {"counts": {"api key": 2, "card": 1}}
    assert '"n": "[card removed]"' in json.dumps(verdict.request)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ('{"to": "a\\u0040b.de", "n": 4111111111111111.0}', '{"to": "[e-mail removed]", "n": "[card removed]"}'),
        ('["a\\u0040b.de"]', '["[e-mail removed]"]'),
        ('{"a": "a\\u0040b.de", "a": "x"}', '{"a": "[e-mail removed]", "a": "x"}'),
        ('{"to": "a\\u0040b.de', '{"to": "[e-mail removed]'),
        ('{"to": "a@b.de", "o": "a\\u0040b.d', '{"to": "[e-mail removed]", "o": "a\\u0040b.d'),
        ('{"n":  1}', '{"n":  1}'),
    ],
)
def test_arguments_of_earlier_calls_are_read_as_clients_read_them(given: str, sent: str) -> None:
    called = {"type": "function", "function": {"name": "f", "arguments": given}}
    fields = {"messages": [{"role": "assistant", "tool_calls": [called]}], "user": MAIL}
    verdict = build("redact", {}).on_request(ModelCall("openai_chat", fields), context())
    assert isinstance(verdict, Verdict)
    assert verdict.request is not None
    assert verdict.request["messages"] == [
        {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": sent}}]}
    ]


@pytest.mark.parametrize("number", [4111111111111111, 4111111111111111.0, -4111111111111111])
def test_cards_are_found_in_numbers_of_every_form(number: float) -> None:
    fields = {"messages": [{"content": [number]}], "seed": number, "metadata": {"n": [number]}}
    verdict = build("redact", {}).on_request(ModelCall("openai_chat", fields), context())
    assert isinstance(verdict, Verdict)
    assert verdict.request == {"messages": [{"content": ["[card removed]"]}], "seed": 0, "metadata": {"n": [0]}}


def test_members_whose_names_are_masked_alike_all_stay() -> None:
    given = {"a@b.de": 1, "c@d.de": 2, "[e-mail removed] 2": 3, "e@f.de": 4}
    sent = {"[e-mail removed]": 1, "[e-mail removed] 3": 2, "[e-mail removed] 2": 3, "[e-mail removed] 4": 4}
    policy = build("redact", {})
    assert json.loads(judge(policy, block(json.dumps(given), name="run")).text) == sent
    call = {"type": "tool_use", "id": "t", "name": "run", "input": given}
    fields: dict[str, object] = {"model": "m", "messages": [{"role": "assistant", "content": [call]}]}
    verdict = policy.on_request(ModelCall("anthropic_messages", fields), context())
    assert verdict is not None
    assert verdict.request == {"model": "m", "messages": [{"role": "assistant", "content": [{**call, "input": sent}]}]}


@pytest.mark.slow
def test_more_than_can_be_looked_at_in_time_is_a_failure() -> None:
    policy = build("redact", {})
    mails = json.dumps({"to": ["a@b.co"] * 20_000})
    with pytest.raises(ValueError, match="more than 10000 places"):
        judge(policy, block(mails, name="f"))
    numbers = json.dumps({"list": list(range(200_000))})
    assert judge(policy, block(numbers, name="f")).decision is Decision.ALLOW


ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in "jane.roe@example.com")


def test_json_within_json_is_masked_without_its_escapes() -> None:
    policy = build("redact", {"find": ["e-mail"], "in": ["tool_call"]})
    raw = json.dumps({"arguments": f'{{"to": "{ESCAPED}", "n": 1}}'})
    masked = json.loads(judge(policy, block(raw)).text)
    assert json.loads(masked["arguments"]) == {"to": "[e-mail removed]", "n": 1}


def test_what_stands_beside_an_answer_is_read_without_its_escapes_too() -> None:
    policy = build("redact", {"find": ["e-mail"], "in": ["content"]})
    assert policy.found_beside(f'{{"to": "{ESCAPED}"}}', False) == "e-mail"


def test_what_only_looks_like_something_beside_an_answer_is_soon_too_much() -> None:
    policy = build("redact", {})
    assert policy.found_beside("x " * 100 + KEY + "sk-" * 1_000, False) == "api key"
    with pytest.raises(ValueError, match="more than 100 places to check"):
        policy.found_beside("sk-" * 1_000, False)
