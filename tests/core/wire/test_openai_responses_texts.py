"""Texts in other members than their type's, or in events of their own: none goes out unjudged."""

import json
from typing import Any

import pytest
from openai import omit
from openai._models import construct_type
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.medium import Medium
from streamviz.core.sounds import media_in
from streamviz.core.verdicts import Decision, Verdict
from tests.core.support import Opinion, chunks, told
from tests.core.wire.official import payloads
from tests.core.wire.test_openai_responses import (
    CALL,
    CREATED,
    MESSAGE,
    REASONING,
    added,
    done,
    finish,
    message,
    read,
    say,
    take_in,
)
from tests.core.wire.test_openai_responses_evasions import EVIL, POISON, through, whole

# The SDK's own classes warn that their contents are odd.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

SOUND = "c291bmQ="


def speech(text: str) -> dict[str, Any]:
    return {"type": "output_audio", "data": SOUND, "transcript": text}


async def tape_of(*script: Any) -> str:
    """What the client gets under a policy that denies the poison wherever it is."""
    numbered = [{**payload, "sequence_number": number} for number, payload in enumerate([CREATED, *script])]
    tape = await through(chunks(*numbered))
    return tape.decode()


def sdk_told(tape: bytes) -> str:
    """Everything that the SDK's accumulator returns for a stream until it raises."""
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    said = ""
    for payload in payloads(tape):
        event: Any = construct_type(type_=ResponseStreamEvent, value=payload)
        try:
            said += "".join(json.dumps(each.to_dict(warnings=False)) for each in state.handle_event(event))
        except (RuntimeError, TypeError, AttributeError):
            break
    return said


async def assert_poison_stays(item: Any) -> None:
    assert POISON in json.dumps(item)
    bare = {"type": item["type"], "id": item["id"], "content": [], "summary": []}
    for script in (
        [added(item), done(item), finish(item)],
        [added(item), finish(bare)],
        [added(item)],
        [added(bare), done(item)],
        [added(bare), finish(item)],
        [done(item)],
        [finish(item)],
    ):
        assert POISON not in await tape_of(*script), script
    assert POISON not in (await whole(finish(item)["response"])).decode()


async def assert_part_poison_stays(part: Any) -> None:
    await assert_poison_stays({**MESSAGE, "content": [part]})
    for word in ("added", "done"):
        event = say(f"content_part.{word}", item_id="msg_1", content_index=0, part=part)
        for script in ([added(MESSAGE), event], [event], [added(MESSAGE), event, done(message()), finish(message())]):
            assert POISON not in await tape_of(*script), script


@pytest.mark.parametrize(
    "item",
    [
        {**MESSAGE, "content": [{"type": "output_text", "text": "fine", "refusal": POISON}]},
        {**MESSAGE, "content": [speech(POISON)]},
        {**MESSAGE, "content": POISON},
        {**REASONING, "content": POISON},
        {**REASONING, "summary": [POISON], "text": "fine"},
    ],
)
async def test_the_sdk_puts_together_nothing_that_was_denied(item: Any) -> None:
    allowed = message("fine", id="msg_2")
    script = [{**CREATED}, done(allowed), added({**item, "content": [], "summary": []}, 1), done(item, 1)]
    script.append(finish(allowed, item))
    numbered = chunks(*({**payload, "sequence_number": number} for number, payload in enumerate(script)))
    plain = b"".join(chunk.raw for chunk in numbered)
    assert POISON in sdk_told(plain)
    assert POISON not in sdk_told(await through(numbered))


# Speech


async def test_what_is_spoken_is_judged_as_content() -> None:
    await assert_part_poison_stays(speech(POISON))
    script = [added(MESSAGE), done({**MESSAGE, "content": [speech("Hi")]})]
    assert read(*script) == [("content", "Hi"), ("media", f'{{"data":"{SOUND}"}}')]


@pytest.mark.parametrize("word", ["audio.transcript", "output_audio_transcript", "output_audio.transcript"])
async def test_a_transcript_that_streams_is_judged(word: str) -> None:
    at = {"item_id": "msg_1", "content_index": 0}
    for where in (at, {}):
        begun = say("content_part.added", **at, part=speech(""))
        for end in ([], [done({**MESSAGE, "content": [speech(POISON)]})], [say(f"{word}.done", transcript=POISON)]):
            pieces = [say(f"{word}.delta", None, **where, delta=piece) for piece in (POISON[:2], POISON[2:])]
            tape = await tape_of(added(MESSAGE), begun, *pieces, *end)
            assert POISON[2:] not in tape
        assert POISON not in await tape_of(added(MESSAGE), say(f"{word}.done", **where, transcript=POISON))


@pytest.mark.parametrize("word", ["audio", "output_audio"])
@pytest.mark.parametrize("where", [{}, {"item_id": "msg_1", "output_index": 0, "content_index": 0}])
async def test_the_sound_of_what_is_denied_does_not_go_out(word: str, where: Any) -> None:
    sound = say(f"{word}.delta", None, **where, delta=SOUND)
    transcript = say("audio.transcript.delta", None, **where, delta=POISON)
    whole_message = {**MESSAGE, "content": [speech(POISON)]}
    for pieces in ([sound, transcript], [transcript, sound], [sound, sound, transcript, sound]):
        for begun in ([added(MESSAGE)], [added(MESSAGE), say("content_part.added", content_index=0, part=speech(""))]):
            tape = await tape_of(*begun, *pieces, done(whole_message), finish(whole_message))
            assert SOUND not in tape
    assert SOUND not in (await whole(finish(whole_message)["response"])).decode()


async def test_speech_that_nobody_denies_stays_as_it_is() -> None:
    at = {"item_id": "msg_1", "content_index": 0}
    spoken = {**MESSAGE, "content": [speech("Hi")]}
    script = [
        {**CREATED, "sequence_number": 0},
        added(MESSAGE),
        say("content_part.added", **at, part={"type": "output_audio", "data": "", "transcript": ""}),
        say("audio.delta", None, delta=SOUND),
        say("audio.transcript.delta", None, delta="Hi"),
        say("audio.transcript.done", None),
        say("content_part.done", **at, part=spoken["content"][0]),
        done(spoken),
        finish(spoken, output_text=""),
    ]
    stream = chunks(*script)
    assert await through(stream) == b"".join(chunk.raw for chunk in stream)
    state = take_in(*script)
    assert told(state.state) == [("content", "Hi"), ("media", f'{{"data":"{SOUND}"}}')]
    assert not state.state.contradiction
    assert state.build()["output"] == [{**spoken, "role": "assistant", "status": "completed"}]


AT = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
SPOKEN = {**MESSAGE, "content": [{"type": "output_audio", "data": "AAAABBBB", "transcript": "Hi"}]}
WORDS = [say("audio.transcript.delta", None, **AT, delta="Hi"), say("audio.transcript.done", None, **AT)]
PIECES = [say("audio.delta", None, **AT, delta=data) for data in ("AAAA", "BBBB")]
ENDS = [say("content_part.done", **AT, part=SPOKEN["content"][0]), done(SPOKEN), finish(SPOKEN)]


@pytest.mark.parametrize(
    "script",
    [
        [added(MESSAGE), *PIECES, say("audio.done", None, **AT), *WORDS, *ENDS],
        [added(MESSAGE), PIECES[0], *WORDS, PIECES[1], *ENDS],
        [added(MESSAGE), *WORDS, *ENDS],
        [finish(SPOKEN)],
    ],
)
def test_the_sound_of_a_part_is_one_block_however_it_comes(script: list[Any]) -> None:
    aggregator = take_in(CREATED, *script)
    content, sound = aggregator.state.blocks
    assert (content.kind, content.text, sound.kind) == ("content", "Hi", "media")
    assert media_in(sound.text) == [Medium("", "AAAABBBB", 6)]
    assert sound.is_sealed
    assert not aggregator.state.contradiction
    assert aggregator.build()["output"] == [{**SPOKEN, "role": "assistant", "status": "completed"}]


def test_a_sound_is_not_told_otherwise_or_behind_its_end() -> None:
    other = {**MESSAGE, "content": [{**SPOKEN["content"][0], "data": "CCCC"}]}
    no_base64 = [
        say("audio.delta", None, **AT, delta="A"),
        done({**MESSAGE, "content": [{**speech("Hi"), "data": "B"}]}),
    ]
    for script in ([*PIECES, done(other)], [PIECES[0], say("audio.done", None, **AT), PIECES[1]], no_base64):
        assert "a sound" in take_in(CREATED, added(MESSAGE), *WORDS, *script).state.contradiction


@pytest.mark.parametrize("verdict", [Verdict(Decision.DENY, "no"), Verdict(Decision.REPLACE, "no", '{"data":"DDDD"}')])
async def test_a_sound_that_is_denied_goes_out_nowhere(verdict: Verdict) -> None:
    def judge(block: StreamBlock) -> Verdict:
        return verdict if block.kind is BlockKind.MEDIA else Verdict(Decision.ALLOW)

    policy = Opinion(judge, list(BlockKind))
    script = [added(MESSAGE), *PIECES, say("audio.done", None, **AT), *WORDS, *ENDS]
    for order in (script, [added(MESSAGE), *WORDS, *ENDS], [finish(SPOKEN)]):
        numbered = [{**payload, "sequence_number": number} for number, payload in enumerate([CREATED, *order])]
        tape = await through(chunks(*numbered), policy=policy)
        assert b"BBBB" not in tape
        assert b"Hi" in tape
    assert b"BBBB" not in await whole(finish(SPOKEN)["response"], policy)


# Thinking


@pytest.mark.parametrize(
    "fields",
    [
        {"text": POISON},
        {"thinking": POISON},
        {"reasoning_content": POISON},
        {"content": POISON},
        {"summary": POISON},
        {"content": [POISON]},
        {"summary": [POISON]},
        {"content": {"type": "reasoning_text", "text": POISON}},
        {"content": [{"type": "reasoning_text", "text": {"value": POISON}}]},
        {"content": [{"type": "thinking", "thinking": POISON}]},
        {"content": [{"type": "reasoning_text", "text": "fine", "refusal": POISON}]},
        {"content": [{"type": "reasoning_text", "text": "fine"}], "text": POISON},
    ],
)
async def test_thinking_is_judged_wherever_its_item_says_it(fields: Any) -> None:
    item = {**REASONING, **fields}
    [block] = take_in(CREATED, done(item)).state.blocks
    assert block.kind is BlockKind.THINKING
    await assert_poison_stays(item)


async def test_thinking_is_judged_in_every_event_that_says_it() -> None:
    at = {"item_id": "rs_1"}
    part = {"type": "summary_text", "text": POISON}
    for event in (
        say("reasoning.delta", **at, delta=POISON),
        say("reasoning_content.delta", **at, delta=POISON),
        say("reasoning.done", **at, text=POISON),
        say("reasoning_summary_part.added", **at, summary_index=0, part=part),
        say("reasoning_summary_part.done", **at, summary_index=0, part={"type": "summary_text", "content": POISON}),
        say("content_part.done", **at, content_index=0, part={"type": "reasoning_text", "text": POISON}),
    ):
        for begun in ([added(REASONING)], []):
            assert [kind for kind, *_ in read(CREATED, *begun, event)] == ["thinking"]
            assert POISON not in await tape_of(*begun, event)


async def test_encrypted_thinking_stays_as_it_is() -> None:
    item = {**REASONING, "encrypted_content": "c2VjcmV0", "status": "completed"}
    tape = await tape_of(added({**item, "encrypted_content": "c2Vj"}), done(item), added(EVIL, 1), finish(item, EVIL))
    assert tape.count("c2VjcmV0") == 2
    assert json.loads(await whole(finish(item, EVIL)["response"]))["output"][0] == item


@pytest.mark.parametrize("fields", [{"content": "hm"}, {"text": "hm"}, {"summary": ["hm"]}])
def test_thinking_that_is_told_again_alike_counts_once(fields: Any) -> None:
    item = {**REASONING, **fields}
    script = [CREATED, added(item), done(item), finish(item)]
    state = take_in(*script).state
    assert told(state) == [("thinking", "hm")]
    assert not state.contradiction
    both = {**item, "content": [{"type": "reasoning_text", "text": "hm"}], "text": "hm", "summary": []}
    assert read(CREATED, done(both), finish(both)) == [("thinking", "hm")]
    assert take_in(*script).build()["output"] == [item]


# Messages


@pytest.mark.parametrize("type", ["output_text", "text", "refusal", "output_audio", "reasoning_text", "mystery"])
@pytest.mark.parametrize("key", ["text", "refusal", "transcript", "thinking", "content"])
async def test_no_part_says_a_second_text_beside_its_own(type: str, key: str) -> None:
    own = {"refusal": "refusal", "output_audio": "transcript"}.get(type, "text")
    for first in ("fine", None):
        await assert_part_poison_stays({"type": type, own: first, key: POISON})
    await assert_part_poison_stays({"type": type, key: {"value": POISON}})


@pytest.mark.parametrize(
    "fields",
    [
        {"content": POISON},
        {"content": [POISON]},
        {"content": [[POISON]]},
        {"content": {"type": "output_text", "text": POISON}},
        {"content": [], "text": POISON},
        {"content": [{"type": "output_text", "text": "fine"}], "refusal": POISON},
        {"content": [], "reasoning_content": POISON},
    ],
)
async def test_a_message_is_judged_wherever_it_says_its_text(fields: Any) -> None:
    await assert_poison_stays({**MESSAGE, **fields})


def test_a_message_whose_content_is_a_text_has_that_text() -> None:
    item = {**MESSAGE, "content": "Hi"}
    state = take_in(CREATED, added(MESSAGE), done(item), finish(item)).state
    assert told(state) == [("content", "Hi")]
    assert not state.contradiction


def test_a_text_told_alike_in_two_members_is_none_told_otherwise() -> None:
    part = {"type": "output_text", "text": "Hi", "refusal": None, "transcript": "Hi"}
    item = {**MESSAGE, "content": [part], "text": "Hi", "refusal": None}
    assert not take_in(CREATED, added(MESSAGE), done(item), finish(item)).state.contradiction


# Unknown types


async def test_what_an_unknown_item_or_part_says_at_its_start_is_judged() -> None:
    item = {"type": "mystery", "id": "x", "note": POISON}
    assert read(CREATED, added(item), finish()) == [("other", json.dumps({"note": POISON}, separators=(",", ":")))]
    await assert_poison_stays(item)
    await assert_part_poison_stays({"type": "mystery", "note": POISON})
    assert take_in(CREATED, added(item), done({**item, "note": "fine"})).state.contradiction


def test_an_unknown_item_that_grows_contradicts_nothing() -> None:
    begun = {"type": "mystery", "id": "x", "notes": [], "status": "in_progress", "encrypted_content": "a"}
    ended = {**begun, "notes": ["a"], "status": "completed", "encrypted_content": "b"}
    state = take_in(CREATED, added(begun), done(ended), finish(ended)).state
    assert len(state.blocks) == 1
    assert not state.contradiction


async def test_calls_and_texts_beside_each_other_are_kept_apart() -> None:
    item = {**CALL, "arguments": "{}"}
    spoken = {**MESSAGE, "content": [speech("Hi")]}
    tape = await tape_of(done(spoken), done(item, 1), done(EVIL, 2), finish(spoken, item, EVIL))
    assert tape.count(SOUND) == 2
    assert POISON not in tape
