"""What the wall keeps of rows, and of what has none."""

from tests.live.test_wall_topic import Walls, asking


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
