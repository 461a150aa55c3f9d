"""What is exported to a collector: trace headers, streams in the conventions' terms, and their contents."""

import json
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import (
    GenAiOperationNameValues,
    GenAiProviderNameValues,
)

from streamviz.core.judgements import ChainContext, Judgement
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire import OPENAI_CHAT, PASSED_THROUGH, WIRE_FORMATS
from streamviz.policies import build
from streamviz.proxy.telemetry import conventions
from streamviz.proxy.telemetry.contents import Contents
from streamviz.records.privacy import PrivateRecorder
from streamviz.records.recorder import AnyEntry
from streamviz.records.rules import Privacy
from streamviz.traces import Parent, new_span, parent_in
from tests.core.support import active, call, calls, delta, deny_names
from tests.exchange.support import Play, event
from tests.records.support import closed, opened

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "AKIAQ2W3E4R5T6Y7U8I9"


@pytest.mark.parametrize(
    ("header", "parent"),
    [
        (f"00-{TRACE}-{SPAN}-01", Parent(TRACE, SPAN, True)),
        (f"00-{TRACE}-{SPAN}-00", Parent(TRACE, SPAN, False)),
        (f"cc-{TRACE}-{SPAN}-03-what-comes-later", Parent(TRACE, SPAN, True)),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        ("", None),
    ],
)
def test_a_parent_is_read(header: str, parent: Parent | None) -> None:
    assert parent_in(header) == parent


def test_every_format_has_an_operation_but_what_passes_unread() -> None:
    assert {name for name, known in WIRE_FORMATS.items() if not known.operation} == {PASSED_THROUGH.name}


def test_operations_and_providers_that_the_conventions_know_have_their_names() -> None:
    operations = {known.operation for known in WIRE_FORMATS.values()} - {""}
    assert operations <= {each.value for each in GenAiOperationNameValues}
    named = {each.value for each in GenAiProviderNameValues}
    assert set(conventions._PROVIDERS.values()) <= named
    # Makers with a name of their own in the conventions, whatever LiteLLM calls the services that offer them.
    makers = {
        "anthropic",
        "bedrock",
        "codestral",
        "cohere",
        "deepseek",
        "groq",
        "mistral",
        "openai",
        "perplexity",
        "xai",
    }
    assert {conventions._PROVIDERS.get(each, each) for each in makers} <= named


def test_a_span_goes_on_from_its_parent() -> None:
    below, alone = new_span(Parent(TRACE, SPAN, True)), new_span(None)
    assert below.trace == TRACE
    assert parent_in(alone.header) == Parent(alone.trace, alone.span, False)
    assert len({TRACE, alone.trace}) == len({SPAN, below.span, alone.span}) - 1 == 2


@pytest.mark.parametrize(
    ("failure", "is_unanswered", "error"),
    [("", False, ""), ("RuntimeError: no", False, "policy_failed"), ("no answer within 60 s", True, "nobody_answered")],
)
def test_a_person_who_does_not_answer_is_no_failure_of_the_policy(
    failure: str, is_unanswered: bool, error: str
) -> None:
    policy, verdict = active(deny_names("rm")), Verdict(Decision.DENY, "no")
    context = ChainContext("run-1", lambda: 0)
    context.judgements.append(Judgement(policy, 0, verdict, 9_000, 9_000, failure, is_unanswered=is_unanswered))
    stream: Any = SimpleNamespace(context=context)
    assert [step.error for step in conventions.steps_in(stream)] == [error]


@pytest.mark.parametrize(
    "said",
    [[delta(content="hi"), delta(finish=SECRET)], [calls(call(0, "c0", SECRET, "{}")), delta(finish="tool_calls")]],
    ids=["finish reason", "tool"],
)
def test_what_a_policy_forbids_upstream_to_say_of_its_answer_the_collector_does_not_have(said: list[Any]) -> None:
    play = Play(policies=[active(build("redact", {}))], provider="openai").opened()
    play.received(b"".join(map(event, [*said, "[DONE]"])))
    play.ended()
    assert SECRET not in str(conventions.attributes_of(play.stream))


def test_the_collector_has_finish_reasons_and_tools() -> None:
    play = Play(policies=[active(build("redact", {}))], provider="openai").opened()
    play.received(b"".join(map(event, [calls(call(0, "c0", "rm", "{}")), delta(finish="tool_calls"), "[DONE]"])))
    play.ended()
    told = conventions.attributes_of(play.stream)
    assert (told["gen_ai.response.finish_reasons"], told["streamviz.tool_calls"]) == (["tool_calls"], ["rm"])


def test_the_collector_has_no_more_of_finish_reasons_than_of_names() -> None:
    play = Play(provider="openai", fields={"model": "m", "n": 60}).opened()
    play.received(b"".join(event(delta(choice, "x" * 1_000, content="a")) for choice in range(60)))
    play.ended()
    assert conventions.attributes_of(play.stream)["gen_ai.response.finish_reasons"] == ["x" * 300] * 50


class Kept:
    """A recorder that discards entries."""

    def append(self, entry: AnyEntry) -> None: ...

    def flush(self) -> None: ...

    def has_lost(self, stream_id: uuid.UUID) -> bool:
        return False


REQUEST = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "x" * 10_000},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ],
}


@pytest.mark.parametrize("privacy", [Privacy(), Privacy(shapes_of_models=("*",)), Privacy(keeps_requests=False)])
def test_what_was_said_is_told_as_far_as_it_is_recorded(privacy: Privacy) -> None:
    stream = uuid.uuid4()
    contents = Contents(Kept())
    recorder = PrivateRecorder(contents, privacy, lambda _: "key")
    recorder.append(opened(stream, wire_format=OPENAI_CHAT.name, request=json.dumps(REQUEST).encode()))
    recorder.append(closed(stream))
    said = contents.take(stream)
    assert said is not None
    assert contents.take(stream) is None
    told = {name: json.loads(str(value)) for name, value in said.attributes().items()}
    if privacy == Privacy():
        assert told["gen_ai.system_instructions"] == [{"type": "text", "content": "Be brief."}]
        asked, call, result = told["gen_ai.input.messages"]
        assert asked == {"role": "user", "parts": [{"type": "text", "content": "x" * 4_000}]}
        assert call["parts"] == [{"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}]
        assert result["parts"] == [{"type": "tool_call_response", "id": "c1", "response": "seen"}]
    else:
        assert "gen_ai.input.messages" not in told
        assert "gen_ai.system_instructions" not in told
