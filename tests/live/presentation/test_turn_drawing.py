"""The waterfall of a session's turns labels long holds."""

from streamviz.live.presentation.stream_views import whole_view_of
from streamviz.live.presentation.turn_drawing import drawing_of
from streamviz.live.presentation.turn_tree import Link, lines_of
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
