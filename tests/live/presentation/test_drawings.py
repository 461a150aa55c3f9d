"""Drawings of a stream: strip, sparkline, waterfall and row."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from streamviz.core.judgements import ModelSaid
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.live.presentation.rows import row_of
from streamviz.live.presentation.spark import counts_of, spark_of
from streamviz.live.presentation.stream_views import whole_view_of
from streamviz.live.presentation.strip import strip_of
from streamviz.live.presentation.waterfall import WIDTH, Waterfall, waterfall_of
from tests.core.support import Opinion, active, delta, deny_names
from tests.exchange.policies import AskAboutRequests
from tests.live.support import SECOND, Running, view_of_running


def per_cent(text: str) -> float:
    assert text.endswith("%")
    return float(text[:-1])


def fall_of(running: Running) -> Waterfall:
    return waterfall_of(whole_view_of(running.stream, view_of_running(running.stream)), running.now)


async def test_a_strip_has_a_segment_a_block_and_fits() -> None:
    running = Running()
    for number in range(50):
        await running.say("x" * 5_000)
        await running.call("{}", "ls", index=number)
    strip = strip_of(view_of_running(running.stream))
    assert len(strip.pieces) == 100
    assert strip.edge is not None
    assert per_cent(strip.edge) <= 100
    assert per_cent(strip.pieces[0].width) > per_cent(strip.pieces[1].width)


async def test_a_strip_of_very_many_blocks_is_of_the_newest() -> None:
    running = Running()
    for number in range(500):
        await running.call("{}", "ls", index=number)
    strip = strip_of(view_of_running(running.stream))
    assert len(strip.pieces) == 100
    assert strip.words.startswith("400 earlier, tool call, ")


async def test_a_strip_says_what_was_held_and_denied() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).say("text")
    await running.call("{}", "rm")
    assert strip_of(view_of_running(running.stream)).words == "content, tool call held"
    await running.take(delta(finish="tool_calls"))
    assert strip_of(view_of_running(running.stream)).words == "content, tool call never sent"


async def test_strips_of_a_page_have_one_scale() -> None:
    short, long = await Running().say("x" * 100), await Running().say("x" * 100)
    await long.call("{}", "ls")
    assert (
        strip_of(view_of_running(short.stream)).pieces[0].width
        == strip_of(view_of_running(long.stream)).pieces[0].width
    )


def test_a_sparkline_counts_whole_seconds() -> None:
    start = 1_000 * SECOND
    received = [start + n * SECOND // 5 for n in range(10)]
    assert counts_of(received, start + 2 * SECOND + 1)[-3:] == [0, 5, 5]
    assert counts_of(received, start + 2 * SECOND + 1) == counts_of(received, start + 2 * SECOND + 999_999)
    assert spark_of(counts_of(received, start + 2 * SECOND)).rate == 5
    assert spark_of(counts_of(received, start + 3 * SECOND)).rate == 0
    assert spark_of(counts_of([], start)).bars == ""


def test_the_sparkline_of_a_finished_stream_shows_its_end() -> None:
    start = 1_000 * SECOND
    assert spark_of(counts_of([start + 100, start + 200], start + 90 * SECOND, start + 300)).rate == 2


async def test_a_waterfall_has_a_lane_a_block_with_the_ticks_of_both_tapes() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).wait(1).say("a")
    await running.wait(1).say("b")
    await running.wait(1).call("{}", "rm")
    await running.wait(1).take(delta(finish="tool_calls"))
    content, denied = fall_of(running).lanes
    assert content.received.count("M") == content.sent.count("M") == 2
    assert denied.received.count("M") == 1
    assert denied.held is not None
    assert denied.denied_x == denied.held.end
    assert (content.sum, denied.sum) == ("2 chars", "denied")


async def test_a_lane_tells_a_hold_that_the_end_of_the_stream_cut_short_from_a_denial() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).call("{", "rm")
    [lane] = fall_of(await running.wait(1).end("left")).lanes
    assert (lane.sum, lane.denied_x) == ("never sent", None)


async def test_a_lane_costs_a_bounded_amount() -> None:
    running = Running()
    for _ in range(5_000):
        await running.wait(0.01).say("a")
    assert fall_of(running).lanes[0].received.count("M") <= 1_001


@given(st.lists(st.integers(0, 40), max_size=80), st.integers(1, 4))
async def test_a_lane_has_a_tick_at_each_place_where_a_chunk_is(gaps: list[int], after: int) -> None:
    running = await Running().say("a")
    for gap in gaps:
        await running.wait(gap / 1000).say("a")
    await running.wait(after).end("left")
    stream = running.stream
    assert stream.ended_at is not None
    length = stream.ended_at - stream.requested_at
    places = sorted({(at - stream.requested_at) * WIDTH // length for at in stream.times.received_at})
    [lane] = fall_of(running).lanes
    assert [int(place) for place in re.findall(r"M(\d+) ", lane.received)] == places
    assert [int(place) for place in re.findall(r"M(\d+) ", lane.sent)] == places


async def test_a_waterfall_names_the_longest_stalls_by_cause() -> None:
    running = await Running(policies=[active(deny_names(), name="guard")]).wait(0.2).say("a")
    await running.wait(4).say("b")
    await running.wait(0.1).call("{", "ls")
    await running.wait(2.5).call("}")
    assert [stall.text for stall in fall_of(running).stalls] == [
        "upstream silent 4.0 s",
        "held by guard 2.5 s",
    ]


async def test_stalls_at_one_time_are_drawn_with_the_words_of_the_longest_alone() -> None:
    running = Running(policies=[active(deny_names(), name="guard")])
    for number in range(3):
        await running.wait(0.1).call("{", "ls", index=number)
    running.wait(9)
    stalls = fall_of(running).stalls
    assert [(stall.text, stall.is_named) for stall in stalls] == [
        ("held by guard 9.2 s", True),
        ("held by guard 9.1 s", False),
        ("held by guard 9.0 s", False),
    ]


async def test_a_hold_for_a_person_lasts_until_the_person_answers() -> None:
    guard = replace(active(deny_names("rm"), name="guard"), by_hand=ByHand(600, Decision.DENY))
    running = await Running(policies=[active(deny_names(), name="other"), guard]).call("{}", "rm")
    await running.take(delta(finish="tool_calls"))
    [lane] = fall_of(running.wait(60)).lanes
    assert (lane.sum, lane.block.hold) == ("held 1 m 0 s", None)


async def test_a_short_hold_that_is_over_is_not_told_as_none() -> None:
    running = await Running(policies=[active(deny_names("rm"), name="guard")]).call("{}", "ls")
    await running.wait(0.034).take(delta(finish="tool_calls"))
    [lane] = fall_of(running).lanes
    assert lane.sum == "held 34 ms"


async def test_a_client_that_does_not_read_is_the_cause_of_upstreams_silence() -> None:
    running = await Running().wait(0.2).say("a")
    running.stream.times.client_waits.append((running.now + 1, running.now + 3 * SECOND))
    await running.wait(3.1).say("b")
    assert [stall.text for stall in fall_of(running).stalls] == ["client not reading 3.0 s"]
    running.stream.times.sending_since = running.now
    running.wait(6)
    assert fall_of(running).stalls[0].text == "client not reading 6.0 s"
    assert row_of(view_of_running(running.stream), running.now).why == "client not reading"


async def test_a_waterfall_marks_now_only_while_the_stream_runs() -> None:
    running = await Running().wait(3).say("a")
    fall = fall_of(running)
    assert fall.now is not None
    assert per_cent(fall.now.x) == 97
    assert [mark.text for mark in fall.marks][:3] == ["0 s", "0.5 s", "1 s"]
    await running.end()
    assert fall_of(running).now is None


async def test_the_axis_of_a_short_stream_is_in_milliseconds() -> None:
    running = await Running().wait(0.03).say("a")
    await running.end()
    assert [mark.text for mark in fall_of(running).marks] == ["0 ms", "5 ms", "10 ms", "15 ms", "20 ms", "25 ms"]


async def test_the_last_client_tick_is_the_last_frame_whoever_made_it() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).say("text")
    await running.call("{}", "rm")
    await running.wait(1).take(delta(finish="tool_calls"))
    await running.end()
    view = whole_view_of(running.stream, view_of_running(running.stream))
    fall = waterfall_of(view, running.now)
    ticks = [lane.sent for lane in fall.lanes] + [lane.sent for lane in fall.beside]
    places = [int(place) for path in ticks for place in re.findall(r"M(\d+) 17", path)]
    assert running.stream.times.made_at
    assert [beside.name for beside in fall.beside][-1] == "injected"  # the tapes' term for it
    assert len(view.passed_at) + len(view.made_at) == view.frame_count
    assert max(places) == WIDTH  # nothing came after it


async def test_a_waterfall_of_nothing_can_be_drawn() -> None:
    assert fall_of(Running()).lanes == []
    assert fall_of(await Running().end("dropped")).stalls == []


async def test_a_row_says_why_it_is_held_denied_or_failed() -> None:
    running = await Running(policies=[active(deny_names("rm"), name="guard")]).call("{}", "rm")
    assert row_of(view_of_running(running.stream), running.now).badges == []
    held = row_of(view_of_running(running.wait(2).stream), running.now)
    assert ([badge.css for badge in held.badges], held.why) == (["held"], "guard · rm")
    await running.take(delta(finish="tool_calls"))
    denied = row_of(view_of_running(running.stream), running.now)
    assert ([badge.word for badge in denied.badges], denied.why) == (["deny"], "guard · listed")
    await running.fail("529 overloaded")
    failed = row_of(view_of_running(running.stream), running.now)
    assert ([badge.word for badge in failed.badges], failed.why) == (["upstream error", "deny"], "529 overloaded")


async def test_verdicts_are_counted_in_thousands() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).call("{}", "rm")
    await running.take(delta(finish="tool_calls"))
    view = view_of_running(running.stream)
    row = row_of(structs.replace(view, verdicts=[*view.verdicts] * 1_234), running.now)
    assert [badge.word for badge in row.badges] == ["1,234 deny"]


async def test_a_halt_is_said_once_and_why_before_what_is_less_grave() -> None:
    halts = Opinion(lambda _: Verdict(Decision.HALT, "too long"))
    policies = [active(halts, name="limit"), active(deny_names("rm"), Mode.SHADOW, name="later")]
    running = await Running(policies=policies).call("{}", "rm")
    await running.take(delta(finish="tool_calls"))
    await running.end()
    row = row_of(view_of_running(running.stream), running.now)
    assert row.badges[0].word == "halt"
    assert "halted" not in [badge.word for badge in row.badges]
    assert row.why == "limit · too long"
    cancelled = await Running().say("a")
    await cancelled.end("cancelled", "alice")
    row = row_of(view_of_running(cancelled.stream), cancelled.now)
    assert ([badge.word for badge in row.badges], row.why) == (["halted"], "cancelled by alice")


async def test_a_row_counts_the_time_since_the_last_chunk() -> None:
    running = await Running().wait(1).say("a")
    row = row_of(view_of_running(running.stream), running.now + 9 * SECOND)
    assert (row.text.last.text, row.age.text, row.why) == ("9.0 s", "10.0 s", "upstream silent")
    assert re.fullmatch(r"\d{13}", str(row.text.last.since_ms))


async def test_what_a_request_waits_for_is_not_upstreams_silence() -> None:
    running = Running(policies=[active(AskAboutRequests({}), name="judge")]).wait(7)
    row = row_of(view_of_running(running.stream), running.now)
    assert (row.state.word, row.why) == ("stalled", "request held by judge")
    assert [stall.text for stall in fall_of(running).stalls] == ["held by judge 7.0 s"]
    running.answer(1, ModelSaid("allow"))
    await running.wait(1).say("a")
    assert [stall.text for stall in fall_of(running).stalls] == ["held by judge 7.0 s"]
    assert row_of(view_of_running(running.stream), running.now).why == ""
