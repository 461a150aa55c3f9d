"""The Live page's rows, in their groups, as each filter shows them."""

import random
from dataclasses import replace
from typing import Any

import pytest

from streamviz.core.judgements import PersonDecided
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision
from streamviz.live.feed import RECENT_SECONDS, Feed
from streamviz.live.filter_terms import Facts
from streamviz.live.filters import Filter, parse_filter
from streamviz.live.pace import Pace
from streamviz.live.publisher import Publisher
from streamviz.live.subscriber import head
from streamviz.live.wall import MOST_RECENT, Wall
from streamviz.live.wall_topic import MOST_ROWS, WallTopic
from tests.core.support import active, delta, deny_names
from tests.live.support import SECOND, START, Element, Page, Running

GROUPS = ("asks", "held", "stalled", "running", "finished", "recent")


class Walls:
    """A worker's wall with pages on it. Its clock stands still at the beginning of a second."""

    def __init__(self) -> None:
        self.feed = Feed()
        self.now = START
        self.wall = Wall(self.feed)
        self.pages: list[tuple[WallTopic, Page]] = []
        self.number = 0

    def run(self, **changes: Any) -> Running:
        """Begin a stream, slightly later than the previous one."""
        self.now += 1
        return Running(self.feed, now=self.now, **changes)

    async def open(self, wanted: str = "") -> Page:
        """Open the page with this filter in a browser."""
        await self.tick()
        await self.wall.catch_up(self.now)
        topic, page = WallTopic(self.wall, parse_filter(wanted)), Page()
        page.receive(head(self.number, "snapshot", 0) + await topic.snapshot(self.now, Pace()))
        self.pages.append((topic, page))
        return page

    async def tick(self, seconds: float = 0) -> list[bool]:
        """Let time pass and bring all pages up to date; returns for each message whether it is only text."""
        self.now += round(seconds * SECOND)
        changed = self.feed.take_changed()
        await self.wall.refresh(changed, self.now, Pace())
        told = []
        for topic, page in self.pages:
            async for update in topic.updates(changed, self.now, Pace()):
                told.append(update.is_text)
                page.receive(head(page.expected or 0, "delta", self.now) + update.html)
        return told


def rows(page: Page) -> dict[str, list[str]]:
    """The labels of the rows in each group."""
    found: dict[str, list[str]] = {}
    for group in GROUPS:
        element = page.root.find(f"group-{group}")
        assert element is not None
        found[group] = [_label(row) for row in element.children if isinstance(row, Element)]
        assert page.text(f"count-{group}") == str(len(found[group]))
        assert page.text(f"more-{group}") == ""
    return {group: labels for group, labels in found.items() if labels}


def _label(row: Element) -> str:
    return next(each.text for each in row.walk() if each.attributes.get("class") == "row-link")


@pytest.mark.parametrize("odd", [{"requested_model": None}, {"times": None}], ids=["drawn", "looked at"])
async def test_a_row_that_cannot_be_shown_keeps_no_other_from_it(odd: dict[str, Any]) -> None:
    walls = Walls()
    page = await walls.open()
    walls.run(session_label="odd", **odd)
    walls.run(session_label="good")
    await walls.tick()
    assert rows(page) == {"running": ["good"]}


async def test_a_row_moves_when_its_state_changes() -> None:
    walls = Walls()
    page = await walls.open()
    running = walls.run(policies=[active(deny_names("rm"))], session_label="a")
    await walls.tick()
    assert rows(page) == {"running": ["a"]}
    await running.call("{}", "rm")
    await walls.tick(seconds=1)
    assert rows(page) == {"running": ["a"]}  # most calls are released before anyone could look
    await walls.tick(seconds=1)
    assert rows(page) == {"held": ["a"]}
    await running.take(delta(finish="tool_calls"))
    await walls.tick()
    assert rows(page) == {"running": ["a"]}
    await walls.tick(seconds=8)
    assert rows(page) == {"stalled": ["a"]}
    await running.end()
    await walls.tick()
    assert rows(page) == {"finished": ["a"]}


async def test_a_finished_row_stays_a_while_and_moves_to_the_recent_ones() -> None:
    walls = Walls()
    page = await walls.open()
    await walls.run(session_label="a").end()
    await walls.tick()
    assert rows(page) == {"finished": ["a"]}
    await walls.tick(seconds=RECENT_SECONDS + 1)
    assert rows(page) == {"recent": ["a"]}
    assert walls.feed.finished == {}


async def test_of_the_recent_ones_the_newest_are_kept() -> None:
    walls = Walls()
    page = await walls.open()
    for number in range(MOST_RECENT + 5):
        await walls.run(session_label=str(number)).end()
    await walls.tick()
    await walls.tick(seconds=RECENT_SECONDS + 1)
    assert rows(page) == {"recent": [str(number) for number in range(MOST_RECENT + 4, 4, -1)]}
    assert len(walls.wall.entries) == MOST_RECENT


async def test_a_page_opened_later_shows_the_same() -> None:
    walls = Walls()
    first = await walls.open()
    streams = [walls.run(policies=[active(deny_names())], session_label=name) for name in "abcdef"]
    await walls.tick()
    await streams[1].call("{", "ls")
    await streams[0].call("{", "ls")
    await walls.tick(seconds=2)
    await streams[0].take(delta(finish="tool_calls"))
    await streams[2].say("text")
    await streams[3].end("left")
    await walls.tick()
    second = await walls.open()
    assert rows(first) == rows(second) == {"held": ["b"], "running": ["f", "e", "c", "a"], "finished": ["d"]}
    for running in streams:
        for part in ("strip", "tail", "rate", "verdicts", "last"):
            assert first.text(f"r-{running.id.hex}-{part}") == second.text(f"r-{running.id.hex}-{part}")


async def test_who_has_waited_longest_is_on_top() -> None:
    walls = Walls()
    page = await walls.open()
    held = [walls.run(policies=[active(deny_names())], session_label=name) for name in "ab"]
    for running in reversed(held):
        running.now += 1_000 if running is held[0] else 0
        await running.call("{", "ls")
        await walls.tick(seconds=2)
    assert rows(page) == {"held": ["b", "a"]}


async def test_each_filter_shows_what_matches_it_and_only_while_it_does() -> None:
    walls = Walls()
    everything, of_model, held = await walls.open(), await walls.open("model:gpt*"), await walls.open("state:held")
    one = walls.run(session_label="one", requested_model="gpt-4.1", policies=[active(deny_names())])
    walls.run(session_label="two", requested_model="sonnet-4")
    await walls.tick()
    assert rows(everything) == {"running": ["two", "one"]}
    assert rows(of_model) == {"running": ["one"]}
    assert rows(held) == {}
    await one.call("{", "ls")
    await walls.tick(seconds=2)
    assert rows(held) == {"held": ["one"]}
    await one.take(delta(finish="tool_calls"))
    await walls.tick()
    assert rows(held) == {}
    assert rows(of_model) == {"running": ["one"]}
    assert everything.text("tally") == of_model.text("tally") == "2 running0 held0 stalled"


async def test_a_row_is_painted_once_however_many_watch() -> None:
    walls = Walls()
    for wanted in ("", "model:coder*", "-state:held"):
        await walls.open(wanted)
    running = await walls.run().say("one")
    await walls.tick()
    [entry] = walls.wall.entries.values()
    assert all(topic._shown[running.id] is entry for topic, _ in walls.pages)


async def test_growing_text_is_text_and_a_move_is_not() -> None:
    walls = Walls()
    page = await walls.open()
    running = await walls.run(policies=[active(deny_names())]).say("one")
    assert await walls.tick() == [False]
    await running.say(" two")
    assert await walls.tick() == [True]
    assert page.text(f"r-{running.id.hex}-tail") == "one two"
    await running.call("{", "ls")
    assert await walls.tick(seconds=2) == [False]


async def test_only_what_looks_different_is_sent() -> None:
    walls = Walls()
    await walls.open()
    await walls.run().say("one")
    await walls.tick()
    await walls.tick(seconds=1)
    assert await walls.tick(seconds=0.01) == []


async def test_the_tally_counts_by_state() -> None:
    walls = Walls()
    page = await walls.open()
    held = walls.run(policies=[active(deny_names())])
    walls.run()
    await held.call("{", "ls")
    await walls.tick(seconds=2)
    assert page.text("tally") == "2 running1 held0 stalled"
    assert page.text("nav-asks") == "Needs you 0"


async def asking(walls: Walls, arguments: str = '{"path": "a.py"}', **changes: Any) -> Running:
    """A call that two policies hold, and that a person is asked about."""
    guard = replace(active(deny_names("rm"), name="guard"), by_hand=ByHand(60, Decision.DENY))
    running = walls.run(policies=[guard, active(deny_names(), name="other")], **changes)
    await running.call(arguments, "rm")
    await running.take(delta(finish="tool_calls"))
    await walls.tick()
    return running


async def test_what_needs_a_person_is_apart_and_says_who_asks_what_and_why() -> None:
    walls = Walls()
    page = await walls.open()
    running = await asking(walls, session_label="a")
    assert rows(page) == {"asks": ["a"]}
    row = page.text(f"r-{running.id.hex}")
    assert 'rm path: "a.py", 16 chars' in row
    assert "guard would deny it: listed" in row
    assert walls.wall.entries[running.id].asked_by == ("guard",)
    assert "other" not in row
    assert "1:00" in row
    assert page.text("nav-asks") == "Needs you 1"
    assert page.text("tally").strip() == "1 needs you1 running0 held0 stalled"
    assert rows(await walls.open("state:held")) == rows(await walls.open('state:"needs you"')) == {"asks": ["a"]}
    assert rows(await walls.open("-state:held")) == {}


async def test_who_has_the_least_time_left_comes_first_and_what_was_decided_is_said() -> None:
    walls = Walls()
    page = await walls.open()
    first = await asking(walls, session_label="first")
    await walls.tick(seconds=3)
    await asking(walls, session_label="second")
    assert rows(page) == {"asks": ["first", "second"]}
    [number] = first.stream.context.questions
    first.answer(number, PersonDecided(Decision.ALLOW, "alice"))
    await walls.tick(seconds=1)
    assert rows(page) == {"asks": ["second"], "running": ["first"]}
    assert "allowed by alice" in page.text(f"r-{first.id.hex}-verdicts")


async def test_the_newest_question_is_told_apart_from_one_that_it_replaces() -> None:
    walls = Walls()
    page = await walls.open()
    first = await asking(walls)
    before = newest_ask(page)
    await walls.tick(seconds=3)
    await asking(walls)
    [number] = first.stream.context.questions
    first.answer(number, PersonDecided(Decision.ALLOW, "alice"))
    await walls.tick(seconds=1)
    assert page.text("nav-asks") == "Needs you 1"
    assert newest_ask(page) > before > 0


async def test_the_navigation_says_whose_version_it_tells() -> None:
    """A page may have the sockets of a stream and of the wall, from different processes."""
    walls = Walls()
    page = await walls.open()
    assert navigation(page)["data-teller"] == "screens"
    assert Publisher(walls.feed, walls.wall).asking_shown()["teller"] == "server"


def newest_ask(page: Page) -> int:
    return int(navigation(page)["data-newest"])


def navigation(page: Page) -> dict[str, str]:
    found = page.root.find("nav-asks")
    assert found is not None
    return found.attributes


async def test_what_ended_while_nobody_watched_is_not_shown_as_running() -> None:
    walls = Walls()
    await walls.open()
    running = walls.run(session_label="a")
    await walls.tick()
    walls.pages.clear()
    await running.end()
    walls.feed.forget_old(walls.now + (RECENT_SECONDS + 1) * SECOND)
    assert rows(await walls.open()) == {}


async def test_a_row_of_another_second_is_painted_whole() -> None:
    walls = Walls()
    page = await walls.open()
    running = await walls.run().say("a")
    await walls.tick()
    running.stream.upstream_model = "came late"
    await walls.tick()
    assert "came late" not in walls.wall.entries[running.id].facts.model
    await walls.tick(seconds=1)
    assert "came late" in walls.wall.entries[running.id].facts.model
    assert page.text(f"r-{running.id.hex}-tail") == "a"


def first_rows(page: Page) -> list[str]:
    """The labels of the running rows, of which there are as many as are allowed, and what is said about the rest."""
    element = page.root.find("group-running")
    assert element is not None
    found = [_label(row) for row in element.children if isinstance(row, Element)]
    assert len(found) == MOST_ROWS
    return found


async def test_of_very_many_rows_the_first_are_there_and_it_says_how_many_more() -> None:
    walls = Walls()
    page = await walls.open()
    streams = {str(n): walls.run(session_label=str(n), requested_model=f"m-{n}") for n in range(MOST_ROWS + 10)}
    await walls.tick()
    last = MOST_ROWS + 9
    assert first_rows(page) == [str(n) for n in range(last, 9, -1)]
    assert (page.text("count-running"), page.text("more-running")) == (
        f"{MOST_ROWS + 10}",
        "10 more; filter to find them",
    )
    await streams["0"].say("out of sight")
    assert await walls.tick() == []
    await streams[str(last)].end()
    await walls.tick()
    assert first_rows(page) == [str(n) for n in range(last - 1, 8, -1)]
    assert (page.text("count-running"), page.text("more-running")) == (
        f"{MOST_ROWS + 9}",
        "9 more; filter to find them",
    )
    assert rows(await walls.open("model:m-0")) == {"running": ["0"]}


@pytest.mark.slow
async def test_a_filter_finds_its_rows_among_a_thousand_at_once() -> None:
    walls = Walls()
    long = "<&>" * 2_000
    for n in range(1_000):
        running = walls.run(session_label=f"agent {n}", requested_model=f"m-{n % 10}", key_name=f"team-{n % 250:03d}")
        await running.say(long)
        if n % 100 == 7:
            await running.call('{"path": "a"}', "read_file")
    found = {
        "": [f"agent {n}" for n in range(999, 899, -1)],
        "model:m-3": [f"agent {n}" for n in range(993, -1, -10)],
        "key:team-007": [f"agent {n}" for n in (757, 507, 257, 7)],
        "tool:read_file -model:m-3": [f"agent {n}" for n in range(907, -1, -100)],
        "model:none": [],
    }
    for wanted, labels in found.items():
        page = await walls.open(wanted)
        group = page.root.find("group-running")
        assert group is not None
        shown = [row for row in group.children if isinstance(row, Element)]
        assert [_label(row) for row in shown] == labels, wanted
        # No row is incomplete: each has its strip and the end of its text.
        assert all("strip" in str([each.attributes.get("class") for each in row.walk()]) for row in shown)
        assert all("<&>" in row.text or "path" in row.text for row in shown)
        assert len((await walls.pages[-1][0].html(Pace())).encode()) < 2_000_000


@pytest.mark.parametrize("seed", range(5))
async def test_what_is_shown_of_very_many_is_what_a_page_opened_now_shows(seed: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("streamviz.live.wall_topic.MOST_ROWS", 3)
    walls, chance, running = Walls(), random.Random(seed), {}
    page = await walls.open()
    for number in range(60):
        match chance.choice(["begin", "begin", "say", "end", "call"]):
            case "begin":
                running[number] = walls.run(policies=[active(deny_names())], session_label=str(number))
            case "end" if running:
                await running.pop(chance.choice(list(running))).end()
            case "say" if running:
                await running[chance.choice(list(running))].say("text")
            case "call" if running:
                await running[chance.choice(list(running))].call("{", "ls")
        if chance.random() < 0.4:
            await walls.tick(seconds=chance.choice([0, 0, 1, 3]))
    await walls.tick()
    again = await walls.open()
    walls.pages.pop()
    for group in GROUPS:
        for part in ("group", "count", "more"):
            assert page.text(f"{part}-{group}") == again.text(f"{part}-{group}")


@pytest.mark.parametrize("wanted", ["tool:ls", "tool:cat"])
async def test_a_filter_is_asked_about_a_row_again_only_when_there_is_more_to_ask(wanted: str) -> None:
    asked: list[Facts] = []

    class Counted(Filter):
        def matches(self, facts: Facts) -> bool:
            asked.append(facts)
            return super().matches(facts)

    walls = Walls()
    running = await walls.run(session_label="a").call("{}", "ls")
    await walls.wall.catch_up(walls.now)
    topic, page = WallTopic(walls.wall, Counted(*parse_filter(wanted))), Page()
    page.receive(head(0, "snapshot", 0) + await topic.snapshot(walls.now, Pace()))
    walls.pages.append((topic, page))
    for _ in range(3):
        await running.wait(1).call("{}")
        await walls.tick(seconds=1)
    assert len(asked) == 1
    await running.call("{}", "cat", index=1)
    await walls.tick()
    assert rows(page) == {"running": ["a"]}
    assert len(asked) == 2


async def test_what_a_run_calls_is_its_own_row_only_while_a_person_is_wanted_for_it() -> None:
    walls = Walls()
    page = await walls.open()
    run = walls.run(session_label="a", executor="reasoning")
    plan = walls.run(session_label="a", part="plan 1")
    await plan.say("{}")
    await walls.tick()
    assert list(walls.wall.entries) == [run.id]
    assert "run ·" in page.text(f"r-{run.id.hex}")
    tools = await asking(walls, session_label="b", part="tools 1")
    assert rows(page)["asks"] == ["b"]
    assert "tools 1 of a run" in page.text(f"r-{tools.id.hex}")
    tools.answer(1, PersonDecided(Decision.ALLOW, "alice"))
    await tools.finish()
    await walls.tick()
    assert list(walls.wall.entries) == [run.id]
    assert "asks" not in rows(page)


async def test_numbers_of_a_snapshot_that_are_over_at_the_next_tick_are_told_again() -> None:
    walls = Walls()
    await walls.open()
    await walls.tick()
    [(topic, _)] = walls.pages
    running = walls.run()
    await walls.wall.refresh(walls.feed.take_changed(), walls.now, Pace())
    page = Page()
    page.receive(head(0, "snapshot", 0) + await topic.snapshot(walls.now, Pace()))
    assert "1" in page.text("tally")
    walls.pages = [(topic, page)]
    walls.wall.drop(running.id)
    walls.feed.running.clear()
    await walls.tick()
    assert "1" not in page.text("tally")
