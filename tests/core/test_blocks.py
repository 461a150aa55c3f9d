"""Blocks and the state of a stream: which events lead to which state, and which are illegal."""

import pytest

from streamviz.core.blocks import (
    ContentStreamBlock,
    MediaStreamBlock,
    OtherStreamBlock,
    RefusalStreamBlock,
    StreamState,
    ThinkingStreamBlock,
    ToolCallStreamBlock,
)
from streamviz.core.errors import IllegalTransition
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)

START = BlockStarted(0, BlockKind.TOOL_CALL, 0, 3, "x", "f")


def after(*chunks: list[StreamEvent]) -> StreamState:
    state = StreamState()
    for seq, events in enumerate(chunks):
        state.begin_chunk(seq, seq * 1000)
        for event in events:
            state.apply(event)
    return state


@pytest.mark.parametrize(
    ("kind", "block_type"),
    [
        (BlockKind.CONTENT, ContentStreamBlock),
        (BlockKind.THINKING, ThinkingStreamBlock),
        (BlockKind.REFUSAL, RefusalStreamBlock),
        (BlockKind.TOOL_CALL, ToolCallStreamBlock),
        (BlockKind.MEDIA, MediaStreamBlock),
        (BlockKind.OTHER, OtherStreamBlock),
    ],
)
def test_each_kind_of_content_has_its_block(kind: BlockKind, block_type: type) -> None:
    [block] = after([BlockStarted(0, kind, 2, 1, "x", "n", "l")]).blocks
    assert type(block) is block_type
    assert (block.kind, block.choice, block.index, block.id) == (kind, 2, 1, "x")


def test_a_block_grows_by_its_deltas() -> None:
    state = after([START, BlockDelta(0, "a")], [BlockDelta(0, "b", id="y")], [BlockDelta(0, "c", name="g")])
    [block] = state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert (block.arguments, block.length, block.id, block.name) == ("abc", 3, "y", "g")
    assert (block.first_seq, block.last_seq, block.started_at, block.completed_at) == (0, 2, 0, None)
    assert state.current_block is block


def test_reading_a_block_as_it_grows_changes_nothing() -> None:
    state = after([BlockStarted(0, BlockKind.CONTENT)])
    block = state.blocks[0]
    assert isinstance(block, ContentStreamBlock)
    for expected in ("a", "aa", "aaa"):
        state.apply(BlockDelta(0, "a"))
        assert block.content == expected


@pytest.mark.parametrize("most", [0, 1, 3, 4, 5, 100])
def test_the_end_of_a_block_is_that_of_its_text(most: int) -> None:
    state = after([BlockStarted(0, BlockKind.CONTENT)])
    block = state.blocks[0]
    assert block.ending(most) == ""
    for piece in ("ab", "", "cde", "f"):
        state.apply(BlockDelta(0, piece))
    ending = block.ending(most)
    assert ending == block.text[max(0, block.length - most) :] == block.ending(most)


def test_signatures_add_up() -> None:
    [block] = after(
        [BlockStarted(0, BlockKind.THINKING)], [BlockDelta(0, signature="s")], [BlockDelta(0, "t", signature="u")]
    ).blocks
    assert isinstance(block, ThinkingStreamBlock)
    assert (block.text, block.signature) == ("t", "su")


def test_all_blocks_that_completed_with_a_chunk_are_told_once() -> None:
    second = BlockStarted(1, BlockKind.CONTENT)
    state = after([START, BlockCompleted(0), BlockSealed(0), second, BlockCompleted(1)])
    assert state.just_completed == tuple(state.blocks)
    assert state.just_sealed == (state.blocks[0],)
    state.begin_chunk(1, 1)
    assert (state.events, state.just_completed, state.just_sealed) == ([], (), ())


def test_a_complete_block_that_grows_is_open_again() -> None:
    state = after([START, BlockCompleted(0, truncated=True), BlockDelta(0, "a")])
    [block] = state.blocks
    assert (block.is_complete, block.completed_at, state.just_completed) == (False, None, ())
    state.apply(BlockCompleted(0))
    assert (block.is_complete, block.is_truncated, state.just_completed) == (True, False, (block,))


@pytest.mark.parametrize(
    "events",
    [
        [BlockStarted(1, BlockKind.CONTENT)],
        [START, START],
        [START, BlockSealed(0)],
        [START, BlockCompleted(0), BlockCompleted(0)],
        [START, BlockCompleted(0), BlockSealed(0), BlockSealed(0)],
        [START, BlockCompleted(0), BlockSealed(0), BlockDelta(0, "a")],
    ],
)
def test_an_illegal_step_is_an_error(events: list[StreamEvent]) -> None:
    with pytest.raises(IllegalTransition):
        after(events)


def test_the_finish_reason_is_that_of_the_first_choice() -> None:
    assert after().finish_reason is None
    assert after([StreamFinished("length", 2), StreamFinished("stop", 1)]).finish_reason == "stop"
    assert after([StreamFinished("length", 1), StreamFinished("stop", 0)]).finish_reason == "stop"


def test_usage_is_the_last_and_a_failure_is_kept() -> None:
    failure = StreamFailed("it broke")
    state = after([UsageUpdated({"a": 1})], [UsageUpdated({"a": 2}), failure])
    assert (state.usage, state.failure) == ({"a": 2}, failure)
