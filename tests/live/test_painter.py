"""Painting a row in pieces gives the same result as painting it whole."""

from html import unescape

import pytest

from streamviz.core.judgements import PersonDecided
from streamviz.core.verdicts import Decision, Mode
from streamviz.exchange.stream import Place
from streamviz.live.filters import parse_filter
from streamviz.live.painter import Painter
from streamviz.live.presentation.rows import row_of
from tests.core.support import active, call, calls, delta, deny_names
from tests.live.support import Row, Running, asking_twice, view_of_running

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
    row = row_of(view_of_running(running.stream), running.now)
    return Painter().paint_whole(row, row.text).parts


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_row_is_the_same_however_often_it_is_painted(mode: Mode) -> None:
    running = Running(policies=[active(deny_names("rm"), mode)])
    row = Row(running)
    for step in STEPS:
        await running.take(step)
        assert row.look().parts == whole(running)
    await running.end()
    assert row.look().parts == whole(running)


async def test_while_only_text_grows_only_text_is_painted() -> None:
    running = await Running().say("a")
    row = Row(running)
    before = row.look()
    await running.say("b")
    after = row.look()
    assert [part for part in after.parts if after.parts[part] != before.parts[part]] == ["tail"]
    assert after.facts is before.facts


async def test_what_a_row_is_found_by_stays_the_same_object_until_it_is_another() -> None:
    running = await Running().call("{}", "ls")
    row = Row(running)
    before = row.look()
    await running.wait(1).call("{}", "ls", index=1)
    after = row.look()
    assert after.parts["strip"] != before.parts["strip"]
    assert after.facts is before.facts
    await running.call("{}", "cat", index=2)
    assert row.look().facts.tool == ("cat", "ls")


async def test_a_row_is_found_by_the_newest_of_very_many_tools() -> None:
    running = Running()
    await running.take(calls(*(call(index, f"c{index}", f"tool_{index}", "{}") for index in range(200))))
    await running.take(calls(*(call(200 + index, f"d{index}", "tool_again", "{}") for index in range(100))))
    found = Row(running).look().facts.tool
    assert found == ("tool_again", *(f"tool_{index}" for index in range(199, 150, -1)))


async def test_a_row_is_found_by_as_much_of_a_name_as_a_filter_can_say() -> None:
    name = "read_" + "x" * 1_000
    facts = Row(await Running().call("{}", name)).look().facts
    assert parse_filter(f"tool:{name}").matches(facts)


async def test_what_has_not_changed_is_the_same_row() -> None:
    running = await Running().say("a")
    row = Row(running)
    assert row.look() is row.look()


async def test_the_next_question_about_a_block_takes_the_place_of_the_one_that_was_answered() -> None:
    running = await asking_twice()
    row = Row(running)
    assert '"asks": 1' in unescape(row.look().parts["asks"])
    running.answer(1, PersonDecided(Decision.ALLOW, "alice"))
    assert '"asks": 2' in unescape(row.look().parts["asks"])


async def test_a_stalled_row_runs_again_with_its_next_chunk() -> None:
    running = await Running().say("a")
    row = Row(running)
    running.wait(8)
    assert row.look().group == "stalled"
    await running.say("b")
    assert row.look().group == "running"


async def test_a_stream_is_over_when_its_client_has_had_all_of_it() -> None:
    running = await Running().say("a")
    row = Row(running)
    running.play.exchange.cancelled("alice")
    assert row.look().group == "running"
    running.wait(0.1)
    await running.end("dropped")
    ended = row.look()
    assert (ended.group, ended.order, ended.ended_at) == ("finished", -running.now, running.now)
    assert ended.parts == whole(running)


async def test_a_run_is_a_row_with_its_calls() -> None:
    run = await Running().say("a")
    run.stream.executor = "reasoning"
    row = Row(run)
    assert "details" not in row.look().parts["calls"]
    made = []
    for number in range(14):
        made.append(await Running().say("b"))
        made[-1].stream.part = f"plan <{number}>"
        run.stream.calls.append(made[-1].stream)
    shown = row.look().parts["calls"]
    assert "<bdi>14 calls, plan &lt;13&gt;: running</bdi>" in shown
    assert "2 before them" in shown
    assert "plan &lt;1&gt;" not in shown
    assert f"/streams/{made[13].stream.id}/" in shown
    made[13].stream.part = "tools 2"
    await made[13].end()
    assert "14 calls, tools 2: running" in row.look().parts["calls"]
    await run.end()
    assert "tools 2: completed" in row.look().parts["calls"]
    assert Row(made[0]).look().parts["calls"] == ""


@pytest.mark.parametrize("relation", ["", "turn", "subagent"])
def test_a_sub_agents_row_says_so(relation: str) -> None:
    running = Running()
    running.stream.place = Place(relation=relation)
    assert ("sub-agent" in whole(running)["who"]) == (relation == "subagent")
