"""What stored chunks say; for a stream with only some of its chunks stored, what its blocks say at the end."""

import uuid

import pytest

from streamviz.core.blocks import StreamState
from streamviz.core.events import BlockDelta, BlockSealed, BlockStarted, StreamEvent, StreamFinished, UsageUpdated
from streamviz.core.json_value import encode
from streamviz.records.runs import StoredChunk
from streamviz.records.telling import Telling
from tests.records.support import block, closed

STREAM = uuid.uuid4()


def chunk(seq: int, said: str | None) -> StoredChunk:
    raw = (
        None if said is None else b"data: " + encode({"choices": [{"index": 0, "delta": {"content": said}}]}) + b"\n\n"
    )
    return StoredChunk(seq, seq, 0, raw)


def added_up(events: list[StreamEvent]) -> StreamState:
    state = StreamState()
    for event in events:
        state.apply(event)
    return state


def test_chunks_are_told_as_they_come_and_blocks_end_with_them() -> None:
    telling = Telling("openai_chat")
    events = [*telling.take(chunk(0, "Hel")), *telling.take(chunk(1, "lo")), *telling.close(closed(STREAM))]
    [told] = added_up(events).blocks
    assert (told.text, told.is_sealed) == ("Hello", True)


def test_where_a_chunk_is_not_kept_the_end_tells_what_blocks_may_say() -> None:
    telling = Telling("openai_chat")
    first = telling.take(chunk(0, "Mail "))
    assert telling.take(chunk(1, None)) == telling.take(chunk(2, " now")) == []
    last = telling.close(closed(STREAM, blocks=[block(0, text="Mail [masked] now"), block(1, text="Bye")]))
    assert [told.text for told in added_up([*first, *last]).blocks] == ["Mail [masked] now", "Bye"]
    assert last[-2:] == [UsageUpdated({"prompt_tokens": 1, "completion_tokens": 2}), StreamFinished("stop")]


@pytest.mark.parametrize("kept", [(), (0,), (1,)], ids=["none", "the first", "the last"])
def test_where_chunks_are_kept_no_longer_the_end_tells_the_text(kept: tuple[int, ...]) -> None:
    telling = Telling("openai_chat")
    said = [event for seq in kept for event in telling.take(chunk(seq, ("Hel", "lo")[seq]))]
    said += telling.close(closed(STREAM, chunk_count=2, blocks=[block(0, text="Hello")]))
    assert [told.text for told in added_up(said).blocks] == ["Hello"]


def test_of_what_was_kept_back_there_is_nothing_more() -> None:
    telling = Telling("openai_chat")
    said = [*telling.take(chunk(0, "Hel")), *telling.take(chunk(1, None))]
    blocks = [block(0, text="Hello"), block(1, kind="tool_call", name="rm", text="{}"), block(2, text="Bye")]
    said += telling.close(closed(STREAM, blocks=blocks), kept_back={0, 1})
    told = [each for each in said if isinstance(each, BlockStarted | BlockSealed)]
    assert [(type(each), each.ordinal) for each in told] == [
        (BlockStarted, 0), (BlockSealed, 0), (BlockStarted, 2), (BlockSealed, 2)
    ]  # fmt: skip
    assert "".join(each.text for each in said if isinstance(each, BlockDelta)) == "HelBye"


def test_where_no_content_is_kept_there_are_blocks_without() -> None:
    telling = Telling("openai_chat")
    telling.take(chunk(0, None))
    [told] = added_up(telling.close(closed(STREAM, blocks=[block(0, text="")]))).blocks
    assert (told.text, told.is_sealed) == ("", True)


def test_nothing_counts_behind_what_cannot_be_read() -> None:
    telling = Telling("openai_chat")
    telling.take(StoredChunk(0, 0, 0, b"data: {\n\n"))
    assert telling.take(chunk(1, "Hello")) == []


def test_of_a_format_of_a_newer_release_the_end_tells_what_its_blocks_say() -> None:
    telling = Telling("of tomorrow")
    assert telling.take(chunk(0, "Hello")) == []
    [told] = added_up(telling.close(closed(STREAM, chunk_count=1, blocks=[block(text="Hello")]))).blocks
    assert (told.text, told.is_sealed) == ("Hello", True)
