"""Images made by a call that the provider ran: a block of their own next to the call, in the same item."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.events import BlockKind
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.sounds import media_in
from streamviz.core.summary import summary
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from streamviz.core.wire.openai_responses_body_composer import OpenAIResponsesBodyComposer
from streamviz.core.wire.openai_responses_composer import OpenAIResponsesComposer
from tests.core.support import Opinion, active, chunks
from tests.core.wire import legal
from tests.core.wire.official import payloads
from tests.core.wire.test_openai_responses import CREATED, added, done, finish, message, say, take_in

PREVIEW, IMAGE = "iVBORw0KGgoAAAAA", "iVBORw0KGgoBBBBB"
BEGUN = {"type": "image_generation_call", "id": "ig_1", "status": "in_progress"}
CALL = {**BEGUN, "status": "completed", "revised_prompt": "p", "result": IMAGE, "output_format": "png"}
CODE = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "code": "plot()",
    "outputs": [{"type": "logs", "logs": "1"}, {"type": "image", "url": f"data:image/png;base64,{IMAGE}"}],
}
PARTIAL = say("image_generation_call.partial_image", item_id="ig_1", partial_image_index=0, partial_image_b64=PREVIEW)
AFTER = message("Here.")
PART: dict[str, Any] = {"item_id": "msg_1", "content_index": 0}
STREAM = [
    *(
        CREATED,
        {**CREATED, "type": "response.in_progress"},
        added(BEGUN),
        PARTIAL,
        done(CALL),
        added({**AFTER, "content": []}, 1),
    ),
    say("content_part.added", 1, **PART, part={"type": "output_text", "text": ""}),
    say("output_text.delta", 1, **PART, delta="Here."),
    say("output_text.done", 1, **PART, text="Here."),
    say("content_part.done", 1, **PART, part=AFTER["content"][0]),
    done(AFTER, 1),
]


def blocks_of(*events: object) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in take_in(*events).state.blocks]


@pytest.mark.parametrize("item", [CALL, CODE])
def test_a_stream_and_a_whole_answer_have_the_image(item: Any) -> None:
    for events in ([done(item), finish(item)], [finish(item)], [finish(item)["response"]]):
        [(_, arguments), (kind, text)] = blocks_of(*events)
        assert (kind, IMAGE in arguments) == ("media", False)
        [medium] = media_in(text)
        assert (medium.type, medium.data) == ("image/png", IMAGE)


def test_previews_come_first_and_are_all_there_is_of_an_image_that_is_cut_off() -> None:
    [_, (_, cut)] = blocks_of(*STREAM[:4])
    [_, (_, whole), _] = blocks_of(*STREAM, finish(CALL, AFTER))
    assert whole.startswith(cut)
    assert [(medium.is_preview, medium.data) for medium in media_in(whole)] == [(True, PREVIEW), (False, IMAGE)]
    assert media_in(cut) == media_in(whole)[:1]


def test_the_whole_message_has_the_call_with_its_image_once() -> None:
    output: Any = take_in(*STREAM, finish(CALL, AFTER)).build()["output"]
    assert output[0] == CALL


def test_a_summary_tells_the_image_with_its_call() -> None:
    told: Any = summary(take_in(*STREAM, finish(CALL, AFTER)).state)
    [call, text] = told["blocks"]
    assert (call["kind"], IMAGE in call["text"], text["text"]) == ("image_generation_call", True, "Here.")


@pytest.mark.parametrize("again", [{**CALL, "result": PREVIEW}, {**CALL, "result": IMAGE + "AAAA"}])
def test_an_image_that_becomes_another_contradicts(again: Any) -> None:
    assert take_in(*STREAM, finish(again, AFTER)).state.contradiction
    assert take_in(*STREAM, PARTIAL).state.contradiction


async def test_an_image_that_is_there_from_the_beginning_is_judged_too() -> None:
    begun = {**BARE, "status": "in_progress", "result": IMAGE}
    stream = chunks(CREATED, added(begun), done(BARE), finish(BARE))
    assert IMAGE.encode() not in await through(stream, BlockKind.MEDIA)
    [_, (kind, text)] = blocks_of(CREATED, added(CALL), done(CALL), finish(CALL))
    assert (kind, [medium.data for medium in media_in(text)]) == ("media", [IMAGE])


async def through(stream: list[Chunk], denied: BlockKind | None, body: Any = None) -> bytes:
    """What the client gets if blocks of one kind are denied."""

    def decide(block: StreamBlock) -> Verdict | None:
        return Verdict(Decision.DENY, "", "[no]") if block.kind is denied else None

    aggregator = OpenAIResponsesAggregator()
    composer: Composer = OpenAIResponsesComposer(aggregator.head)
    if body is not None:
        composer = OpenAIResponsesBodyComposer(body)
    context = ChainContext("run", lambda: 0, state=aggregator.state)
    chain = PolicyChain([active(Opinion(decide, list(BlockKind)))], composer)
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=True)
    await processor.take(stream, context)
    await processor.end(context)
    assert processor.broken_by is None
    return b"".join(frame.raw for frame in context.outbox)


BARE = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": None, "revised_prompt": "p"}
OUTPUTS = {
    None: [CALL, AFTER],
    BlockKind.MEDIA: [BARE, message("[no]"), AFTER],
    BlockKind.TOOL_CALL: [message("[no]"), AFTER],
    BlockKind.CONTENT: [CALL, message("[no]")],
}


def said(output: list[Any]) -> list[Any]:
    """The relevant parts of the items."""
    return [
        item["content"][0]["text"] if item["type"] == "message" else {key: item.get(key) for key in BARE}
        for item in output
    ]


@pytest.mark.parametrize("denied", list(OUTPUTS))
async def test_an_image_goes_with_its_call_and_may_be_denied_by_itself(denied: BlockKind | None) -> None:
    events = [{**event, "sequence_number": number} for number, event in enumerate([*STREAM, finish(CALL, AFTER)])]
    tape = await through(chunks(*events), denied)
    told = payloads(tape)
    legal.check_responses(told)
    assert said(told[-1]["response"]["output"]) == said(OUTPUTS[denied])
    assert (IMAGE.encode() in tape) is (denied in (None, BlockKind.CONTENT))
    assert (PREVIEW.encode() in tape) is (denied in (None, BlockKind.CONTENT))


@pytest.mark.parametrize("denied", list(OUTPUTS))
async def test_an_image_of_a_whole_answer_goes_with_its_call_and_may_be_denied_by_itself(
    denied: BlockKind | None,
) -> None:
    body = finish(CALL, AFTER)["response"]
    raw = json.dumps(body).encode()
    answer = await through([Chunk(0, 0, raw, raw)], denied, body)
    assert said(json.loads(answer)["output"]) == said(OUTPUTS[denied])
    assert (IMAGE.encode() in answer) is (denied in (None, BlockKind.CONTENT))
