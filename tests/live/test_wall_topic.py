"""The Live page's rows, in their groups."""

from streamviz.live.feed import RECENT_SECONDS, Feed
from streamviz.live.wall_topic import WallTopic
from streamviz.live.watcher import head
from tests.core.support import active, delta, deny_names
from tests.live.support import SECOND, Element, Page, Running

GROUPS = ("held", "stalled", "running", "finished")


class Wall:
    """The topic with pages on it."""

    def __init__(self) -> None:
        self.feed = Feed()
        self.now = Running(Feed()).now
        self.topic = WallTopic(self.feed, self.now)
        self.number = 0
        self.pages: list[Page] = []

    async def open(self) -> Page:
        await self.tick()
        page = Page()
        page.receive(head(self.number, "snapshot", 0) + await self.topic.snapshot(self.now))
        self.pages.append(page)
        return page

    async def tick(self, seconds: float = 0.1) -> list[bool]:
        """Let time pass and bring all pages up to date; gives for each message whether it is only text."""
        self.now += round(seconds * SECOND)
        told = []
        async for update in self.topic.updates(self.feed.take_changed(), self.now):
            self.number += 1
            told.append(update.is_text)
            for page in self.pages:
                page.receive(head(self.number, "delta", self.now) + update.html)
        return told


def rows(page: Page) -> dict[str, list[str]]:
    """The labels of the rows in each group."""
    found: dict[str, list[str]] = {}
    for group in GROUPS:
        element = page.root.find(f"group-{group}")
        assert element is not None
        found[group] = [_label(row) for row in element.children if isinstance(row, Element)]
        assert page.text(f"count-{group}") == str(len(found[group]))
    return {group: labels for group, labels in found.items() if labels}


def _label(row: Element) -> str:
    return next(each.text for each in row.walk() if each.attributes.get("class") == "row-link")


async def test_a_row_moves_when_its_state_changes() -> None:
    wall = Wall()
    page = await wall.open()
    running = Running(wall.feed, policies=[active(deny_names("rm"))], session_label="a")
    await wall.tick()
    assert rows(page) == {"running": ["a"]}
    await running.call("{}", "rm")
    await wall.tick()
    assert rows(page) == {"held": ["a"]}
    await running.take(delta(finish="tool_calls"))
    await wall.tick()
    assert rows(page) == {"running": ["a"]}
    await wall.tick(seconds=8)
    assert rows(page) == {"stalled": ["a"]}
    await running.end()
    await wall.tick()
    assert rows(page) == {"finished": ["a"]}


async def test_a_finished_row_stays_a_while_and_goes() -> None:
    wall = Wall()
    page = await wall.open()
    running = await Running(wall.feed, session_label="a").end()
    await wall.tick()
    assert rows(page) == {"finished": ["a"]}
    running.stream.ended_at = running.now - (RECENT_SECONDS + 1) * SECOND
    await wall.tick(seconds=1)
    assert rows(page) == {}


async def test_a_page_opened_later_shows_the_same() -> None:
    wall = Wall()
    first = await wall.open()
    streams = [Running(wall.feed, policies=[active(deny_names())], session_label=name) for name in "abcdef"]
    await wall.tick()
    await streams[1].call("{", "ls")
    await streams[0].call("{", "ls")
    await wall.tick()
    await streams[0].take(delta(finish="tool_calls"))
    await streams[2].say("text")
    await streams[3].end("client_disconnected")
    await wall.tick()
    second = await wall.open()
    assert rows(first) == rows(second) == {"held": ["b"], "running": ["a", "f", "e", "c"], "finished": ["d"]}
    for running in streams:
        for part in ("strip", "tail", "rate", "verdicts"):
            assert first.text(f"r-{running.id.hex}-{part}") == second.text(f"r-{running.id.hex}-{part}")


async def test_growing_text_is_text_and_a_move_is_not() -> None:
    wall = Wall()
    page = await wall.open()
    running = await Running(wall.feed, policies=[active(deny_names())]).say("one")
    assert await wall.tick() == [False]
    await wall.tick()
    await running.say(" two")
    assert await wall.tick() == [True]
    assert page.text(f"r-{running.id.hex}-tail") == "one two"
    await running.call("{", "ls")
    assert await wall.tick() == [False]


async def test_only_what_looks_different_is_sent() -> None:
    wall = Wall()
    await wall.open()
    await Running(wall.feed).say("one")
    await wall.tick()
    await wall.tick(seconds=1)
    assert await wall.tick(seconds=0.01) == []


async def test_the_tally_counts_by_state() -> None:
    wall = Wall()
    page = await wall.open()
    held = Running(wall.feed, policies=[active(deny_names())])
    Running(wall.feed)
    await held.call("{", "ls")
    await wall.tick()
    assert page.text("tally") == "2 running1 held0 stalled"
    assert page.text("nav-held") == "1 held"
