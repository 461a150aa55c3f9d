"""Whatever the steps of a run answer, the client's stream is legal, and the run stays within its limits."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.wire import WIRE_FORMATS
from streamviz.executors.registry import build
from tests.executors.support import Scripted, aggregated, bytes_of, plan, said, use
from tests.recordings import RECORDED_FORMATS

LIMITS = {"steps": 3, "tool_calls": 4, "tool_seconds": 0.01, "seconds": 60}
USES = st.lists(
    st.one_of(
        st.builds(use, st.sampled_from(["count_words", "wait", "rm", ""]), text=st.text(max_size=9)),
        st.fixed_dictionaries({"name": st.text(max_size=5), "arguments": st.text(max_size=5), "reason": st.just("")}),
    ),
    max_size=7,
)
STEPS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", "{", "[]", "null", '{"thought": 3}', '{"thought": "", "next_action": "fly"}', "`" * 6]),
    st.builds(
        lambda action, uses, thought, both: plan(action, *uses, thought=thought, side_by_side=both),
        st.sampled_from(["continue_thinking", "use_tools", "finished"]),
        USES,
        st.text(max_size=20),
        st.booleans(),
    ),
    st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)).map(
        json.dumps
    ),
)


@pytest.mark.parametrize("is_streaming", [True, False])
@given(steps=st.lists(STEPS, min_size=1, max_size=4), name=st.sampled_from(RECORDED_FORMATS))
def test_what_steps_answer_the_stream_is_legal_and_within_limits(
    is_streaming: bool, steps: list[str], name: str
) -> None:
    call = Scripted(*map(said, steps), wire_format=name, is_streaming=is_streaming, wants_events=True)

    async def answered() -> bytes:
        return await bytes_of(await build("reasoning", LIMITS).open(call))

    data = asyncio.run(answered())
    aggregator: Any = WIRE_FORMATS[name].aggregator()
    aggregated(aggregator, data, is_streaming=is_streaming)
    state = aggregator.state
    assert (state.failure, state.contradiction, bool(state.finish_reason)) == (None, "", True)
    assert len(call.requests) <= LIMITS["steps"] + 1
    assert sum(map(len, call.proposed)) <= LIMITS["tool_calls"]
