"""A stream's page: whoever opens it sees the same, at any time."""

import asyncio
import json
import random
from typing import Any

import pytest
from django.utils.safestring import SafeString
from hypothesis import given, settings
from hypothesis import strategies as st

from streamviz.core.judgements import ModelSaid, PersonDecided
from streamviz.core.verdicts import Decision, Mode
from streamviz.live.feed import Feed
from streamviz.live.pace import Pace
from streamviz.live.presentation import windows
from streamviz.live.rendering import asking_shown, nav_asks
from streamviz.live.stream_topic import StreamTopic
from streamviz.live.subscriber import head
from streamviz.live.topics import count_asking, newest_ask
from tests.core.support import active, call, calls, delta, deny_names
from tests.exchange.policies import AskAboutCalls, as_said
from tests.live.support import Page, Running, asking_twice
from tests.thorough import examples


class Watched:
    """A topic with pages on it, as a channel has them."""

    def __init__(self, running: Running) -> None:
        self.running = running
        feed = running.feed

        def asking() -> SafeString:
            return nav_asks(asking_shown(count_asking(feed), newest_ask(feed), others_away=False, teller="server"))

        self.topic = StreamTopic(running.stream, asking)
        self.number = 0
        self.pages: list[Page] = []
        self.sizes: list[int] = []  # of text updates
        self.largest = 0

    async def tick(self) -> None:
        """Bring all pages up to date."""
        changed = self.running.feed.take_changed()
        async for update in self.topic.updates(changed, self.running.now, Pace()):
            self.number += 1
            self.largest = max(self.largest, len(update.html))
            if update.is_text:
                self.sizes.append(len(update.html))
            for page in self.pages:
                page.receive(head(self.number, "delta", self.running.now) + update.html)

    async def open(self) -> Page:
        """Open the page in another browser."""
        await self.tick()
        page = Page()
        page.receive(head(self.number, "snapshot", 0) + await self.topic.snapshot(self.running.now, Pace()))
        self.pages.append(page)
        return page


PIECES = st.one_of(
    st.builds(lambda text: delta(content=text), st.text(max_size=8)),
    st.builds(lambda text: delta(reasoning_content=text), st.text(max_size=8)),
    st.builds(
        lambda index, name, text: calls(call(index, f"c{index}", name, text)),
        st.integers(0, 2),
        st.sampled_from(["rm", "ls"]),
        st.sampled_from(['{"a": [', '"x', '", 1', "]}", "{}", "\\", "<b>"]),
    ),
    st.builds(lambda text: delta(refusal=text), st.text(max_size=4)),
)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.lists(PIECES, max_size=25), st.randoms(use_true_random=False), st.booleans())
async def test_a_page_opened_at_any_time_shows_the_same_as_one_open_from_the_start(
    pieces: list[Any], rng: random.Random, enforces: bool
) -> None:
    running = Running(Feed(), policies=[active(deny_names("rm"))] if enforces else [])
    watched = Watched(running)
    await watched.open()
    for piece in [*pieces, delta(finish="stop")]:
        await running.wait(rng.random()).take(piece)
        if rng.random() < 0.5:
            await watched.tick()
        if rng.random() < 0.2:
            await watched.open()
    await running.end()
    fresh = await watched.open()
    assert watched.topic.is_over
    for page in watched.pages:
        assert page.root.shape() == fresh.root.shape()


async def test_a_page_that_is_open_for_long_keeps_no_more_blocks_than_one_opened_now_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows, "BLOCKS_A_PAGE", 4)
    running = Running(Feed(), policies=[active(deny_names("rm"))], format="anthropic_messages")
    watched = Watched(running)
    page = await watched.open()
    assert page.is_hidden("pages")
    await running.take({"type": "message_start", "message": {"role": "assistant", "content": []}})
    for index in range(9):
        await running.wait(1).take(*whole_call(index, "rm" if index % 2 else "ls"))
        if index % 3 != 1:  # first one at a time, then two at once
            await watched.tick()
    await running.wait(1).take(
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}
    )
    await running.end()
    await watched.tick()
    fresh = await watched.open()
    assert [page.has(f"b{index}") for index in range(9)] == [False] * 5 + [True] * 4
    assert page.text("verdict-list").count("rm") == 2
    assert page.text("pages") == "6 to 9Earlier"
    assert not page.is_hidden("pages")
    assert page.root.shape() == fresh.root.shape()


def whole_call(index: int, name: str) -> list[dict[str, Any]]:
    """A tool call in Anthropic's format, which has an explicit end."""
    block = {"type": "tool_use", "id": f"c{index}", "name": name, "input": {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        {"type": "content_block_stop", "index": index},
    ]


@pytest.fixture
async def watched() -> Watched:
    """A running stream with one page open on it."""
    found = Watched(Running(Feed(), policies=[active(deny_names("rm"), name="guard")]))
    await found.open()
    return found


async def test_text_grows_by_what_is_new_alone(watched: Watched) -> None:
    await watched.running.say("x" * 100_000)
    await watched.tick()
    await watched.running.say("fresh")
    await watched.tick()
    assert watched.pages[0].text("b0-text").endswith("xfresh")
    assert watched.sizes[-1] < 1_000


@pytest.mark.parametrize("kind", ["content", "call"])
async def test_a_text_that_grows_by_very_much_at_once_is_shown_cut_and_goes_on(watched: Watched, kind: str) -> None:
    say = watched.running.say if kind == "content" else watched.running.call
    await (watched.running.say("a") if kind == "content" else watched.running.call("a", "ls"))
    await watched.tick()
    await say("\x80" * 1_300_000)
    await watched.tick()
    page = watched.pages[0]
    assert max(watched.sizes) < 1_600_000
    assert "characters not shown" in page.text("b0-text")
    await say("and on")
    await watched.tick()
    assert page.text("b0-text").startswith("a⟨U+0080⟩")
    assert page.text("b0-text").endswith("⟨U+0080⟩and on")
    assert page.text("b0-size").startswith("1,300,007 ")


async def test_texts_that_come_together_share_what_is_sent(watched: Watched) -> None:
    indices, hostile = range(12), "\x80" * 200_000
    await watched.running.take(calls(*(call(index, f"c{index}", "ls", hostile) for index in indices)))
    await watched.tick()
    await watched.running.take(calls(*(call(index, None, None, hostile) for index in indices)))
    await watched.tick()
    page = watched.pages[0]
    assert watched.largest < 2_000_000
    assert "characters not shown" in page.text("b11-text")
    assert page.text("b11-size").startswith("400,000 ")


async def test_arguments_grow_as_a_tree(watched: Watched) -> None:
    await watched.running.call('{"path": "bil', "read_file")
    await watched.tick()
    assert watched.pages[0].text("b0-tree") == 'path"bil'
    await watched.running.call('ling"}')
    await watched.tick()
    assert watched.pages[0].text("b0-tree") == 'path"billing"'
    assert watched.pages[0].text("b0-text") == '{"path": "billing"}'


async def test_an_endless_argument_costs_a_bounded_amount_a_tick(watched: Watched) -> None:
    await watched.running.call('{"content": "', "write_file")
    for _ in range(50):
        await watched.running.call("x" * 10_000)
        await watched.tick()
    assert max(watched.sizes) < 40_000


async def test_clients_are_served_in_the_midst_of_a_tick_that_looks_at_very_many_blocks() -> None:
    running = Running(Feed())
    await running.take(calls(*(call(number, f"c{number}", "ls", "{}") for number in range(2_000))))
    watched = Watched(running)
    page, rounds = await watched.open(), 0

    async def client() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    await running.say("and this")
    client_task = asyncio.ensure_future(client())
    await watched.tick()
    client_task.cancel()
    assert rounds > 2
    assert page.text("b2000-text") == "and this"


async def test_a_held_block_is_told_as_held_and_its_denial_with_the_reason(watched: Watched) -> None:
    page = watched.pages[0]
    await watched.running.call("{}", "rm")
    await watched.tick()
    assert "guard" in page.text("hold-list")
    assert "held" in page.text("stream-state")
    await watched.running.wait(1).take(delta(finish="tool_calls"))
    await watched.tick()
    assert page.text("hold-list") == ""
    assert "listed" in page.text("verdict-list")
    assert "never sent" in page.text("i0")


async def test_the_next_question_about_a_block_takes_the_place_of_the_one_that_was_answered() -> None:
    running = await asking_twice()
    watched = Watched(running)
    page = await watched.open()
    assert asks_of(page) == [1, 1, 1]
    assert "first would deny it" in page.text("hold-list")
    running.answer(1, PersonDecided(Decision.ALLOW, "alice"))
    await watched.tick()
    assert asks_of(page) == [2, 2, 2]
    assert "second would deny it" in page.text("hold-list")


def asks_of(page: Page) -> list[int]:
    """Which questions the buttons of a page answer."""
    return [json.loads(each.attributes["hx-vals"])["asks"] for each in page.root.walk() if "hx-vals" in each.attributes]


async def test_a_tick_with_nothing_new_says_nothing(watched: Watched) -> None:
    await watched.running.say("a")
    await watched.tick()
    before = watched.number
    for _ in range(5):
        await watched.tick()
    assert watched.number == before


async def test_the_end_brings_the_figures_up_to_date(watched: Watched) -> None:
    await watched.running.say("a")
    await watched.running.take({"choices": [], "usage": {"completion_tokens": 7, "prompt_tokens": 3}})
    await watched.running.end()
    await watched.tick()
    page = watched.pages[0]
    assert "7 out, 3 in" in page.text("facts")
    assert "completed" in page.text("stream-state")
    assert page.text("chunk-count") == "3"


async def test_verdicts_that_come_after_the_end_are_shown() -> None:
    running = await Running(policies=[active(AskAboutCalls(as_said), Mode.SHADOW)]).call("{}", "rm")
    watched = Watched(running)
    page = await watched.open()
    # The client has everything, but a shadow policy is still judging.
    await running.finish()
    await watched.tick()
    assert page.text("stream-state") == "completed"
    assert not watched.topic.is_over
    running.answer(1, ModelSaid("deny"))
    await running.end()
    await watched.tick()
    assert "would deny" in page.text("v0")
    assert watched.topic.is_over


async def test_a_page_opened_in_a_state_that_lasts_a_moment_does_not_stay_in_it() -> None:
    watched = Watched(await Running().say("a"))
    running = watched.running.wait(0.5)
    await running.say("b")
    early = await watched.open()
    running.wait(4.6)
    await watched.tick()
    running.wait(0.5)  # it has stalled; everything was sent less than a second ago
    late = await watched.open()
    assert "stalled" in late.text("stream-state")
    await running.wait(0.1).say("c")
    await watched.tick()
    await running.wait(1).say("d")
    await watched.tick()
    assert [page.text("stream-state") for page in (early, late)] == [early.text("stream-state")] * 2
    assert "stalled" not in late.text("stream-state")


async def test_a_page_opened_while_somebody_is_asked_elsewhere_is_told_once_nobody_is() -> None:
    watched = Watched(await Running().say("a"))
    await watched.open()
    watched.running.wait(1)
    await watched.tick()
    asking = await asking_twice(watched.running.feed)
    page = Page()
    page.receive(head(0, "snapshot", 0) + await watched.topic.snapshot(watched.running.now, Pace()))
    watched.pages = [page]
    watched.number = 0
    shown = page.text("nav-asks")
    await asking.end("cancelled", "alice")
    watched.running.wait(1)
    await watched.tick()
    assert page.text("nav-asks") != shown
