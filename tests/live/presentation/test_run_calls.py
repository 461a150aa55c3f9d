"""The calls of a run on a time axis."""

from msgspec.structs import replace

from streamviz.live.presentation.run_calls import run_calls
from tests.core.support import active, delta, deny_names
from tests.live.support import Running, view_of_running


async def test_tools_run_until_their_run_goes_on() -> None:
    call = view_of_running(Running().stream)
    at = call.requested_at
    over = {"outcome": "completed", "ended_at": at + 10}
    run = replace(call, outcome="completed", ended_at=at + 100)
    calls = [
        replace(call, part="plan 1", requested_at=at, **over),
        replace(call, part="tools 1", requested_at=at + 10, **over),
        replace(call, part="answer", requested_at=at + 60, outcome="completed", ended_at=at + 100),
    ]
    lanes = run_calls(run, calls, at + 500).lanes
    assert [(lane.span.x, lane.span.width) for lane in lanes] == [
        ("0.00%", "10.00%"), ("10.00%", "50.00%"), ("60.00%", "40.00%")
    ]  # fmt: skip


async def test_a_call_that_was_denied_is_marked_where_it_was() -> None:
    running = Running(policies=[active(deny_names("wait"))])
    await running.call("{}", name="wait")
    await running.take(delta(finish="tool_calls"))
    call = view_of_running(running.stream)
    at = call.requested_at
    denied = replace(call.blocks[0], held_at=at + 20, released_at=at + 30)
    run = replace(call, blocks=[], outcome="completed", ended_at=at + 100)
    tools = replace(call, part="tools 1", blocks=[denied], outcome="completed", ended_at=at + 40)
    plan = replace(tools, part="plan 1", blocks=[])
    marked, unmarked = run_calls(run, [tools, plan], at + 500).lanes
    assert (marked.denied, marked.denied_x) == ("wait denied", "30.00%")
    assert "wait denied" in marked.words
    assert (unmarked.denied, unmarked.denied_x) == ("", "")


async def test_a_call_that_was_held_as_its_client_left_was_denied_by_nobody() -> None:
    running = await Running(policies=[active(deny_names("wait"))]).call("{", name="wait")
    call = replace(view_of_running((await running.end("left")).stream), part="tools 1")
    [lane] = run_calls(call, [call], running.now).lanes
    assert (lane.denied, lane.denied_x) == ("", "")
