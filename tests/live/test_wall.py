"""What the wall keeps of rows, and of streams without one."""

from streamviz.live.feed import RECENT_SECONDS
from tests.live.test_wall_topic import Walls, asking, rows


async def test_nothing_is_kept_of_what_a_run_calls_but_while_a_person_is_wanted_for_it() -> None:
    walls = Walls()
    await walls.open()
    for ends in (True, False):
        plan = walls.run(part="plan 1")
        await plan.say("{}")
        await walls.tick()
        if ends:
            await plan.end()
            await walls.tick()
    assert walls.wall._painters == {}
    tools = await asking(walls, part="tools 1")
    assert list(walls.wall._painters) == [tools.id]
    await tools.end("cancelled", "alice")
    await walls.tick()
    assert walls.wall._painters == {}


async def test_nothing_is_kept_of_a_row_that_cannot_be_drawn() -> None:
    walls = Walls()
    await walls.open()
    walls.run(requested_model=None)
    await walls.tick()
    assert walls.wall._painters == {}


async def test_what_is_over_of_a_deleted_session_goes_at_once_and_what_runs_at_its_end() -> None:
    walls = Walls()
    page = await walls.open()
    over, running, other = [walls.run(session_label=label) for label in ("over", "running", "other")]
    running.stream.session_id = over.stream.session_id
    for each in (over, other):
        await each.end()
    await walls.tick()
    for forget in (walls.feed.forget_session, walls.wall.forget_session):
        forget(over.stream.session_id)
    await walls.tick(1)
    assert rows(page)["finished"] == ["other"]
    assert walls.wall.entries.keys() == {running.id, other.id}
    await running.end()
    await walls.tick(1)
    assert walls.wall.entries.keys() == {other.id}
    await walls.tick(RECENT_SECONDS + 1)
    assert rows(page)["recent"] == ["other"]
