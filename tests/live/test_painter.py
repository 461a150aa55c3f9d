"""Painting a row in pieces shows what painting all of it does."""

import pytest

from streamviz.core.policy import Mode
from streamviz.live.painter import Painter
from streamviz.live.presentation.from_live import view_of
from streamviz.live.presentation.rows import row_of
from tests.core.support import active, call, calls, delta, deny_names
from tests.live.support import Running

STEPS = [
    delta(reasoning_content="hm"),
    delta(content="x" * 400),
    delta(content="  y\n <b>"),
    calls(call(0, "a", "ls", '{"a": ')),
    calls(call(0, None, None, "1}")),
    calls(call(1, "b", "rm", "{")),
    delta(content="behind it"),
    delta(finish="tool_calls"),
]


def whole(running: Running) -> dict[str, str]:
    return Painter().paint_whole(row_of(view_of(running.stream), running.now)).parts


@pytest.mark.parametrize("mode", list(Mode))
async def test_it_is_the_same_however_often_it_is_painted(mode: Mode) -> None:
    running = Running(policies=[active(deny_names("rm"), mode)])
    painter = Painter()
    for step in STEPS:
        await running.take(step)
        assert painter.paint(running.stream, running.now).parts == whole(running)
    await running.end()
    assert painter.paint(running.stream, running.now).parts == whole(running)


async def test_while_only_text_grows_only_text_is_painted() -> None:
    running = await Running().say("a")
    painter = Painter()
    before = painter.paint(running.stream, running.now)
    await running.say("b")
    after = painter.paint(running.stream, running.now)
    assert [part for part in after.parts if after.parts[part] != before.parts[part]] == ["tail"]
    assert after.facts is before.facts


async def test_what_has_not_changed_is_the_same_row() -> None:
    running = await Running().say("a")
    painter = Painter()
    assert painter.paint(running.stream, running.now) is painter.paint(running.stream, running.now)


async def test_a_stalled_row_runs_again_with_its_next_chunk() -> None:
    running = await Running().say("a")
    painter = Painter()
    running.wait(8)
    assert painter.paint(running.stream, running.now).group == "stalled"
    await running.say("b")
    assert painter.paint(running.stream, running.now).group == "running"
