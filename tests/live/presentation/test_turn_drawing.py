"""The waterfall of a session's turns labels long holds."""

from msgspec.structs import replace

from streamviz.live.presentation.stream_views import whole_view_of
from streamviz.live.presentation.turn_drawing import drawing_of
from streamviz.live.presentation.turn_tree import Link, lines_of
from streamviz.records.ids import uuid7
from tests.core.support import active, delta, deny_names
from tests.live.support import Running, view_of_running


async def captions(seconds: float) -> list[str]:
    """The captions of a turn whose call was held for this long, and then denied."""
    running = await Running(policies=[active(deny_names("rm"))]).call("{}", "rm")
    await running.wait(seconds).take(delta(finish="tool_calls"))
    await running.finish()
    view = whole_view_of(running.stream, view_of_running(running.stream))
    [lane] = drawing_of(lines_of([Link(view.id)]), {view.id: view}, running.now).lanes
    assert lane.turns[0].denied_x
    return [hold.text for hold in lane.holds]


async def test_a_long_hold_that_ended_denied_says_how_long_it_was() -> None:
    assert await captions(18.4) == ["held 18.4 s"]


async def test_the_moment_in_which_a_call_arrives_is_no_hold_to_name() -> None:
    assert await captions(0.4) == []


async def test_what_took_some_milliseconds_is_told_in_them() -> None:
    running = await Running().take(delta("Hi"))
    await running.wait(0.03).take(delta(finish="stop"))
    await running.finish()
    first = whole_view_of(running.stream, view_of_running(running.stream))
    ended = first.ended_at or 0
    second = replace(first, id=uuid7(), requested_at=ended + 20_000, ended_at=ended + 60_000)
    links = [Link(first.id), Link(second.id, first.id, "turn")]
    [lane] = drawing_of(lines_of(links), {each.id: each for each in (first, second)}, running.now).lanes
    assert lane.sum == "0.1 s"
    assert [pause.text for pause in lane.pauses] == ["user 20 ms"]
    [lane] = drawing_of(lines_of(links[:1]), {first.id: first}, running.now).lanes
    assert lane.sum == "30 ms"
