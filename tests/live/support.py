"""Streams for the live feed, each a real exchange driven by a test, and a page to show them on."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, Self

from streamviz.core.bounds import Bounds
from streamviz.core.errors import UpstreamError
from streamviz.core.judgements import Answer
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision
from streamviz.exchange import recording
from streamviz.exchange.life import State
from streamviz.exchange.stream import LiveStream
from streamviz.live import messages
from streamviz.live.entries import Entry
from streamviz.live.feed import Feed, now_us
from streamviz.live.painter import Painter
from streamviz.live.presentation.stream_views import view_of
from streamviz.live.presentation.views import StreamView
from streamviz.live.row_sources import RowSources
from tests.core.support import active, call, calls, delta, deny_names, sse
from tests.exchange.support import EVENTS, Play

SECOND = 1_000_000
BOUNDS = Bounds(2**25, 2**25, 10**6, 10_000, 100_000)
# All streams begin at the same time, at the start of a second: pages are updated once per second.
START = now_us() // SECOND * SECOND


def view_of_running(stream: LiveStream) -> StreamView:
    """The stream as pages show it at this moment."""
    return view_of(recording.entries_of(stream, list(recording.blocks_of(stream))))


class Running:
    """A running stream: an exchange driven by the test and announced in the live feed. Its clock stands still unless
    the test advances it."""

    def __init__(
        self, feed: Feed | None = None, policies: Sequence[ActivePolicy] = (), now: int = 0, **changes: Any
    ) -> None:
        self.feed = feed or Feed()
        usual = {"session_label": "nightly-triage", "key_name": "ci-nightly", "requested_model": "coder-large"}
        self.play = Play(policies=policies, bounds=BOUNDS, now=now or START, **usual | changes).asked()
        self.stream = self.play.stream
        self.feed.opened(self.stream)

    @property
    def id(self) -> uuid.UUID:
        return self.stream.id

    @property
    def now(self) -> int:
        return self.play.now

    @now.setter
    def now(self, now: int) -> None:
        self.play.now = now

    def wait(self, seconds: float) -> Self:
        """Let time pass."""
        self.play.now += round(seconds * SECOND)
        return self

    async def take(self, *payloads: object) -> Self:
        """Receive chunks in one read."""
        if self.stream.life.state is State.ASKED:
            self.play.forwarded().happened("answered", 200, EVENTS)
        self.play.received(b"".join(map(sse, payloads)))
        self.feed.changed(self.stream)
        return self

    async def say(self, text: str) -> Self:
        """Receive a piece of content."""
        return await self.take(delta(content=text))

    async def call(self, arguments: str, name: str | None = None, index: int = 0) -> Self:
        """Receive a piece of a tool call; the first has its `name`."""
        return await self.take(calls(call(index, f"call-{index}" if name else None, name, arguments)))

    def answer(self, number: int, answer: Answer) -> None:
        """Answer a question."""
        self.play.answered(number, answer)
        self.feed.changed(self.stream)

    async def finish(self) -> Self:
        """Receive upstream's last event; the client has everything, but shadow policies may still be judging."""
        if self.play.exchange.is_reading or self.stream.life.state is State.ASKED:
            await self.take("[DONE]")
        self.play.ended()
        self.feed.changed(self.stream)
        return self

    async def fail(self, message: str) -> Self:
        """Upstream fails."""
        self.play.ended(UpstreamError(502, message))
        return await self.end()

    async def end(self, event: str = "", *details: Any) -> Self:
        """End the stream for good: upstream finishes, or this event happens to the exchange instead."""
        if event:
            self.play.happened(event, *details)
        elif not self.stream.life.is_over:
            await self.finish()
        self.play.happened("close")
        self.feed.closed(self.stream)
        return self


async def asking_twice(feed: Feed | None = None) -> Running:
    """A stream that asks a person about one call for two policies, one after the other."""
    guards = [
        replace(active(deny_names("rm"), name=name), by_hand=ByHand(60, Decision.DENY)) for name in ("first", "second")
    ]
    running = await Running(feed, guards).call("{}", "rm")
    return await running.take(delta(finish="tool_calls"))


class Element:
    """An element of a page, with its parent and its children."""

    def __init__(self, tag: str, attributes: dict[str, str], parent: "Element | None" = None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element | str] = []

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def find(self, element_id: str) -> "Element | None":
        return next((each for each in self.walk() if each.attributes.get("id") == element_id), None)

    def walk(self) -> "list[Element]":
        """All elements within it, beginning with itself."""
        below = [each for child in self.children if isinstance(child, Element) for each in child.walk()]
        return [self, *below]

    def shape(self) -> list[object]:
        """Everything that can be seen of it, for comparison; adjacent texts are joined."""
        shape: list[object] = [self.tag, sorted(self.attributes.items())]
        for child in self.children:
            if isinstance(child, Element):
                shape.append(child.shape())
            elif shape and isinstance(shape[-1], str) and len(shape) > 2:
                shape[-1] += child
            elif child:
                shape.append(child)
        return shape


class _Parser(HTMLParser):
    VOID = {"input", "br", "meta", "link"}

    def __init__(self) -> None:
        super().__init__()
        self.root = self._at = Element("root", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self._at)
        self._at.children.append(element)
        if tag not in self.VOID:
            self._at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._at.children.append(Element(tag, {name: value or "" for name, value in attrs}, self._at))

    def handle_endtag(self, tag: str) -> None:
        assert self._at.tag == tag, f"</{tag}> ends <{self._at.tag}>"
        assert self._at.parent is not None
        self._at = self._at.parent

    def handle_data(self, data: str) -> None:
        self._at.children.append(data)


def parse(html: str) -> Element:
    """A fragment's elements, under a root. Raises AssertionError if its tags do not match."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert parser._at is parser.root, f"<{parser._at.tag}> is not ended"
    return parser.root


class Page:
    """A browser's page as htmx's out-of-band swaps change it, with the checks of static/js/socket.js."""

    def __init__(self) -> None:
        self.root = Element("root", {})
        self.expected: int | None = None
        self.kinds: list[str] = []
        self.missing = 0

    def receive(self, message: str) -> None:
        """Process one message as a browser does."""
        first, _, html = message.partition("\n")
        number, kind, _, dropped = first.split()
        self.kinds.append(kind)
        if kind == "snapshot":
            self.root = parse(html)
            for element in self.root.walk():
                element.attributes.pop("hx-swap-oob", None)
            self.expected = int(number) + 1
        elif kind == "behind":
            self.expected = int(number) + 1
            self.missing = int(dropped)
        elif kind == "delta" and self.expected is not None:
            assert int(number) == self.expected, f"message {number} where {self.expected} was next"
            self.expected += 1
            self._swap(html)

    def text(self, element_id: str) -> str:
        """An element's text. Raises AssertionError if it does not exist."""
        element = self.root.find(element_id)
        assert element is not None, f"nothing has the id {element_id}"
        return element.text

    def is_hidden(self, element_id: str) -> bool:
        found = self.root.find(element_id)
        assert found, f"nothing has the id {element_id}"
        return "hidden" in found.attributes

    def has(self, element_id: str) -> bool:
        return self.root.find(element_id) is not None

    def _swap(self, html: str) -> None:
        for element in parse(html).children:
            if isinstance(element, Element):
                self._swap_one(element)

    def _swap_one(self, element: Element) -> None:
        how, _, where = element.attributes.pop("hx-swap-oob").partition(":#")
        target = self.root.find(where or element.attributes["id"])
        assert target is not None, f"nothing has the id {where or element.attributes['id']}"
        if how == "afterend":
            self._put_after(target, element)
            return
        if how in ("beforeend", "afterbegin"):
            for child in element.children:
                if isinstance(child, Element):
                    child.parent = target
            at = len(target.children) if how == "beforeend" else 0
            target.children[at:at] = element.children
            return
        assert target.parent is not None
        siblings = target.parent.children
        at = siblings.index(target)
        element.parent = target.parent
        siblings[at : at + 1] = [] if how == "delete" else [element]

    def _put_after(self, target: Element, element: Element) -> None:
        assert target.parent is not None
        siblings = target.parent.children
        for child in element.children:
            if isinstance(child, Element):
                child.parent = target.parent
        at = siblings.index(target) + 1
        siblings[at:at] = element.children


class Row:
    """A stream's row, painted each time `look` is called, after a round trip over the wire as to another process."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._sources = RowSources(running.feed)
        self._painter = Painter()

    def look(self) -> Entry:
        source = self._sources.of(self._running.stream, self._running.now)
        sent = messages.pack(messages.Rows("a", 1, False, [source]))
        entry = self._painter.paint(messages.unpack(sent).rows[0])
        assert entry is not None
        return entry
