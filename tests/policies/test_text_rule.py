"""text_rule: matches in running text are replaced or halt the stream, however the text is split."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.policies import build
from tests.core.sdk import Reader
from tests.core.support import Opinion, Run, active, call, calls, chunks, delta, told
from tests.policies.support import said

RULE = {"patterns": ["secret"], "replacement": "[gone]"}


async def content(parameters: dict[str, object], *pieces: str) -> str:
    it = await said("text_rule", parameters, *pieces)
    return "".join(block.text for block in it.client_state.blocks)


async def test_a_match_split_over_three_chunks_is_replaced() -> None:
    it = await said("text_rule", RULE, "the se", "cr", "et is out")
    assert told(it.client_state) == [("content", "the [gone] is out")]
    assert b"se" not in it.tape.split(b"the ")[1].split(b"gone")[0]
    [judgement] = it.context.judgements
    assert judgement.verdict.decision is Decision.REPLACE
    assert judgement.verdict.reason == "Replaced: 1 × match of secret."
    assert judgement.verdict.evidence["spans"] == [{"start": 4, "end": 10, "label": "match of secret"}]
    assert judgement.client_had == 4


async def test_what_does_not_match_goes_through_untouched() -> None:
    stream = chunks(delta(content="the se"), delta(content="cond"), delta(finish="stop"), "[DONE]")
    it = Run([active(build("text_rule", RULE))])
    assert await it.take(stream[0]) == b""
    assert await it.take(stream[1]) == stream[0].raw + stream[1].raw
    assert (await it.finish(stream[2:])).tape == b"".join(chunk.raw for chunk in stream)
    [judgement] = it.context.judgements
    assert judgement.verdict.decision is Decision.ALLOW


async def test_an_end_that_turned_out_to_be_no_match_is_sent_at_the_end() -> None:
    assert await content(RULE, "keep this secre") == "keep this secre"


async def test_it_acts_on_each_of_many_matches() -> None:
    assert await content(RULE, "secretsecret se", "cret") == "[gone][gone] [gone]"


async def test_a_halt_ends_the_stream_before_the_match() -> None:
    rule = {"patterns": ["secret"], "action": "halt", "text": "[stop]"}
    it = await said("text_rule", rule, "the s", "ecr", "et", " and more")
    assert Reader().stream(it.tape) == ({0: [("content", "the [stop]")]}, {0: "content_filter"})
    assert it.tape.endswith(b"data: [DONE]\n\n")
    assert it.context.is_terminated
    assert it.context.halted_by == "rule"
    [judgement] = it.context.judgements
    assert (judgement.verdict.decision, judgement.client_had) == (Decision.HALT, 4)
    assert judgement.verdict.evidence == {"label": "match of secret", "length": 6, "start": 4}


async def test_only_the_kinds_it_reads_are_read() -> None:
    it = await said("text_rule", RULE, "secret", field="reasoning_content")
    assert told(it.client_state) == [("thinking", "secret")]
    it = await said("text_rule", {**RULE, "in": ["thinking"]}, "sec", "ret", field="reasoning_content")
    assert told(it.client_state) == [("thinking", "[gone]")]


async def test_patterns_may_ignore_case_and_match_whole_words() -> None:
    assert await content({**RULE, "ignore_case": True}, "SEC", "ret") == "[gone]"
    assert (
        await content({**RULE, "patterns": [r"\bcat\b"]}, "con", "cat", "enate cat", "s cat")
        == "concatenate cats [gone]"
    )
    assert await content({**RULE, "patterns": ["^a"]}, "aa", "a") == "[gone]aa"


async def test_no_more_is_kept_back_than_it_may() -> None:
    stream = chunks(delta(content="<"), delta(content="12345"), delta(content="12345"))
    it = Run([active(build("text_rule", {"patterns": ["<.*>"], "look_back": 10}))])
    assert await it.take(*stream[:2]) == b""
    assert await it.take(stream[2]) == b"".join(chunk.raw for chunk in stream)


async def test_a_call_behind_a_text_that_may_match_waits_for_nothing_more() -> None:
    stream = chunks(delta(content="a se"), calls(call(0, "y", "ls", "{}")), delta(finish="tool_calls"))
    it = Run([active(build("text_rule", RULE))])
    await it.take(stream[0])
    assert it.tape == b""
    await it.take(stream[1])
    assert it.tape == stream[0].raw + stream[1].raw


async def test_a_shadow_sees_it_and_changes_nothing() -> None:
    stream = chunks(delta(content="a sec"), delta(content="ret"), delta(finish="stop"))
    it = Run([active(build("text_rule", RULE), Mode.SHADOW)])
    assert await it.take(stream[0]) == stream[0].raw
    await it.finish(stream[1:])
    assert it.tape == b"".join(chunk.raw for chunk in stream)
    [judgement] = it.context.judgements
    assert (judgement.verdict.decision, judgement.client_had) == (Decision.REPLACE, 8)


async def test_a_later_rule_reads_what_an_earlier_one_made_of_it() -> None:
    first = active(build("text_rule", {"patterns": ["a+"], "replacement": "b"}), name="first")
    second = active(build("text_rule", {"patterns": ["xbx"], "replacement": "c"}), name="second")
    stream = chunks(*(delta(content=piece) for piece in ("x", "aa", "a", "x-")), delta(finish="stop"))
    it = await Run([first, second]).finish(stream)
    assert told(it.client_state) == [("content", "c-")]
    assert [judgement.verdict.decision for judgement in it.context.judgements] == [Decision.REPLACE] * 2


async def test_a_block_that_another_policy_holds_is_read_as_a_whole() -> None:
    seen: list[str] = []

    def see(block: StreamBlock) -> None:
        seen.append(block.text)

    holder = Opinion(see, [BlockKind.CONTENT])
    it = await Run([active(build("text_rule", RULE), name="rule"), active(holder, name="holder")]).finish(
        chunks(delta(content="a sec"), delta(content="ret"), delta(finish="stop"))
    )
    assert seen == ["a [gone]"]
    assert told(it.client_state) == [("content", "a [gone]")]


async def test_a_whole_answer_passes_the_same_rule() -> None:
    message = {"role": "assistant", "content": "a secret"}
    body: JsonObject = {"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    raw = json.dumps(body).encode()
    it = await Run([active(build("text_rule", RULE))], OpenAIChatBodyComposer(body)).finish([Chunk(0, 0, raw, raw)])
    assert json.loads(it.tape)["choices"][0]["message"]["content"] == "a [gone]"
    halting = {"patterns": ["secret"], "action": "halt", "text": "[stop]"}
    it = await Run([active(build("text_rule", halting))], OpenAIChatBodyComposer(body)).finish([Chunk(0, 0, raw, raw)])
    [choice] = json.loads(it.tape)["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("a [stop]", "content_filter")


@pytest.mark.parametrize(
    ("parameters", "field"),
    [({}, ""), ({"patterns": []}, "patterns"), ({"patterns": ["("]}, "patterns.0"),
     ({"patterns": ["(?=a)"]}, "patterns.0"),
     ({**RULE, "in": ["tool_call"]}, "in.0"), ({**RULE, "action": "deny"}, "action")],
)  # fmt: skip
def test_it_refuses_what_it_cannot_use(parameters: dict[str, object], field: str) -> None:
    with pytest.raises(PolicyParametersError) as raised:
        build("text_rule", parameters)
    assert raised.value.field == field


TEXTS = st.text("ab-", max_size=30)


@given(TEXTS, st.lists(st.integers(0, 30), max_size=10), st.sampled_from(["a+b", "ab|ba-", "(?:a-)+", "b{2}", r"\ba"]))
async def test_the_pieces_in_which_a_text_comes_make_no_difference(text: str, cuts: list[int], pattern: str) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    rule = {"patterns": [pattern], "replacement": "*"}
    assert await content(rule, *pieces) == await content(rule, text)


async def test_a_match_in_two_texts_of_a_kind_is_found_where_clients_join_them() -> None:
    rule = active(build("text_rule", {**RULE, "in": ["content", "thinking"]}))
    pieces = [
        {"reasoning_content": "the sec"},
        {"content": "All"},
        {"reasoning_content": "ret is"},
        {"content": " well"},
    ]
    it = await Run([rule]).finish(chunks(*(delta(**piece) for piece in pieces), delta(finish="stop")))
    client = it.client_state
    thinking = "".join(block.text for block in client.blocks if block.kind is BlockKind.THINKING)
    assert "secret" not in thinking
    assert thinking.startswith("the sec")
    assert thinking.endswith(" is")
    assert "".join(block.text for block in client.blocks if block.kind is BlockKind.CONTENT) == "All well"
    assert any(each.verdict.decision is Decision.REPLACE for each in it.context.judgements)


IN_TURNS = ({"content": "a sec"}, {"reasoning_content": "Well."}, {"content": "ret is"}, {"reasoning_content": "So."})


async def in_turns(parameters: dict[str, object], *more: str) -> Run:
    """A match over two texts that another policy holds, and more texts behind it."""
    rules = [
        active(build("text_rule", parameters)),
        active(Opinion(lambda _: None, [BlockKind.CONTENT]), name="holder"),
    ]
    pieces = (*IN_TURNS, *({"content": text} for text in more))
    return await Run(rules).finish(chunks(*(delta(**piece) for piece in pieces), delta(finish="stop")))


async def test_a_match_in_two_texts_is_found_if_another_policy_holds_them() -> None:
    it = await in_turns(RULE, " well")
    assert said_by(it) == ["a sec", "[gone] is", " well"]
    it = await in_turns({**RULE, "action": "halt", "text": "[stop]"}, " well")
    assert said_by(it) == ["a sec", "[stop]"]


async def test_a_text_behind_one_that_was_halted_is_judged_by_itself() -> None:
    rule = active(build("text_rule", {**RULE, "action": "halt"}), Mode.SHADOW)
    it = await Run([rule, active(Opinion(lambda _: None, [BlockKind.CONTENT]), name="holder")]).finish(
        chunks(delta(content="a secret"), delta(reasoning_content="Well."), delta(content=" is"), delta(finish="stop"))
    )
    found = [each.verdict.decision for each in it.context.judgements if each.policy.name == "rule"]
    assert found == [Decision.HALT, Decision.ALLOW]


def said_by(it: Run) -> list[str]:
    return [block.text for block in it.client_state.blocks if block.kind is BlockKind.CONTENT]


async def test_texts_held_for_a_match_that_does_not_come_are_sent_once() -> None:
    rule = active(build("text_rule", {**RULE, "in": ["content", "thinking"]}))
    pieces = [
        {"content": "a se"},
        {"reasoning_content": "b"},
        {"content": "c"},
        {"reasoning_content": "d"},
        {"content": "e"},
    ]
    stream = chunks(*(delta(**piece) for piece in pieces), delta(finish="stop"))
    assert (await Run([rule]).finish(stream)).tape == b"".join(chunk.raw for chunk in stream)
