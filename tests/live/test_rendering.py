"""Fragments: well formed, with hostile text escaped."""

from dataclasses import replace

import pytest

from streamviz.core.judgements import PersonDecided
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision
from streamviz.live import rendering, wall_rendering
from streamviz.live.pace import Pace
from streamviz.live.presentation import cutting
from streamviz.live.presentation.stream_views import whole_view_of
from streamviz.live.presentation.text import printable
from streamviz.simulator.scenarios import HOSTILE_TEXT
from tests.core.support import active, delta, deny_names
from tests.live.support import Row, Running, asking_twice, parse, view_of_running

HOSTILE = [
    HOSTILE_TEXT,
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    '<li id="x" hx-swap-oob="true" hx-get="/sign-out/" hx-trigger="load">',
    "{{ 7 * 7 }} {% debug %} <head><body></template>",
    "\x00\x1b[2J\u2028\u2029\ud83d",
    "x" * 1_000_000,
]

# Attributes whose text a script updates every second or so.
CLOCKS = {"data-ago", "data-since", "data-until", "data-left"}


async def hostile(text: str) -> Running:
    running = Running(
        policies=[active(deny_names(text), name="guard")],
        session_label=text,
        key_name=text,
        requested_model=text,
        upstream_model=text,
        provider=text,
        user_agent=text,
    )
    text = text.encode("utf-8", "replace").decode()
    await running.take(delta(reasoning_content=text), delta(content=text), delta(refusal=text))
    await running.call(text, text)
    await running.call('{"<b>": "' + text.replace('"', "'").replace("\\", ""), text, index=1)
    return running


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
async def test_hostile_text_is_shown_and_does_nothing(text: str) -> None:
    running = await hostile(text)
    for _ in range(2):
        view = whole_view_of(running.stream, view_of_running(running.stream))
        page = await rendering.stream(view, running.now, Pace())
        head = "".join(rendering.header(view, running.now).values())
        entry = Row(running).look()
        wall = await wall_rendering.wall([wall_rendering.Group("held", [entry], 1)], Pace(), is_filtered=True)
        elements = parse(page + head + wall).walk()
        (page + head + wall).encode()
        assert not {"script", "img", "iframe", "head", "body", "template", "style"} & {each.tag for each in elements}
        assert not [name for each in elements for name in each.attributes if name.startswith(("on", "hx-", "style"))]
        links = [each.attributes["href"] for each in elements if "href" in each.attributes]
        assert all(link.startswith(("#", "/")) for link in links)
        if view.is_running:
            await running.fail(text.encode("utf-8", "replace").decode())


async def test_a_row_takes_no_more_than_its_end_of_a_long_output() -> None:
    running = await Running(session_label="y" * 100_000, requested_model="m" * 100_000).say("x" * 1_000_000)
    entry = Row(running).look()
    assert len(wall_rendering.row(entry)) < 6_000
    assert len(entry.facts.text) < 2_000


async def test_thinking_is_folded_and_a_tool_call_has_its_raw_text_at_hand() -> None:
    running = await Running().take(delta(reasoning_content="hm"))
    await running.call('{"a": 1}', "ls")
    view = view_of_running(running.stream)
    thinking, call = (parse(rendering.block_card(block, view.id)) for block in view.blocks)
    assert thinking.children[0].tag == "details"
    assert "open" not in thinking.children[0].attributes
    raw = call.find("b1-text")
    assert raw is not None
    assert (raw.text, "hidden" in raw.attributes) == ('{"a": 1}', True)


@pytest.mark.parametrize(("otherwise", "word"), [(Decision.DENY, "denied"), (Decision.ALLOW, "allowed")])
async def test_a_hold_says_what_becomes_of_it_without_an_answer(otherwise: Decision, word: str) -> None:
    guard = replace(active(deny_names("rm"), name="guard"), by_hand=ByHand(60, otherwise))
    running = await Running(policies=[guard]).call("{}", "rm")
    await running.take(delta(finish="tool_calls"))
    assert f"it is {word}" in rendering.holds(view_of_running(running.stream), running.now)


async def test_what_counts_up_among_verdicts_is_not_read_out() -> None:
    running = await asking_twice()
    [first] = running.stream.context.questions
    running.answer(first, PersonDecided(Decision.ALLOW, "alice"))
    page = parse(await rendering.stream(view_of_running(running.stream), running.now, Pace()))
    [read] = [each for each in page.walk() if each.attributes.get("aria-live") == "polite"]
    clocks = [each.attributes for each in read.walk() if CLOCKS & each.attributes.keys()]
    assert {"data-ago", "data-left"} <= {name for clock in clocks for name in clock}
    assert [clock for clock in clocks if clock.get("role") != "timer" and clock.get("aria-live") != "off"] == []


@pytest.mark.slow
async def test_a_page_of_very_long_unreadable_texts_names_little_more_of_them_than_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = await Running().say("\x80" * 1_300_000)
    for index in range(11):
        await running.call("\x80" * 1_300_000, "ls", index)
    named: list[int] = []

    def note(text: str) -> str:
        named.append(len(text))
        return printable(text)

    monkeypatch.setattr(cutting, "printable", note)
    page = await rendering.stream(view_of_running(running.stream), running.now, Pace())
    assert len(page.encode()) < 2_000_000
    assert sum(named) < 1_500_000


def test_one_verdict_that_is_left_out_is_not_told_in_the_plural() -> None:
    view = view_of_running(Running().stream)
    assert "1 earlier verdict not shown." in rendering.fragment("_panes", stream=view, more_verdicts=1)
