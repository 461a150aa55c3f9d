"""Streams for the live feed, made by the real core from chunks that a test gives, and a page to show them on."""

import uuid
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any, Self

from streamviz.core.aggregator import Chunk
from streamviz.core.chain import PolicyChain
from streamviz.core.judgements import Answer, ChainContext
from streamviz.core.outcome import Outcome
from streamviz.core.policy import ActivePolicy
from streamviz.core.processor import StreamProcessor
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from streamviz.exchange.life import Event
from streamviz.exchange.stream import LiveStream
from streamviz.live import messages
from streamviz.live.entries import Entry
from streamviz.live.feed import Feed, now_us
from streamviz.live.painter import Painter
from streamviz.live.row_sources import RowSources
from streamviz.records.ids import uuid7
from tests.core.support import HEAD, call, calls, delta, sse

SECOND = 1_000_000
# All that a test makes begins at once, and at the start of a second: pages are brought up to date once in each.
START = now_us() // SECOND * SECOND

_ANSWERED = (Event.FORWARDED, Event.ANSWERED, Event.DRAINED)
ENDS = {
    Outcome.COMPLETED: (*_ANSWERED, Event.COMPLETED),
    Outcome.HALTED: (*_ANSWERED, Event.HALTED),
    Outcome.UPSTREAM_ERROR: (Event.FAILED,),
    Outcome.CLIENT_DISCONNECTED: (Event.LEFT,),
    Outcome.INTERRUPTED: (Event.DROPPED,),
}


class Running:
    """A stream under way. Its clock stands still unless the test moves it."""

    def __init__(
        self, feed: Feed | None = None, policies: Sequence[ActivePolicy] = (), now: int = 0, **changes: Any
    ) -> None:
        self.feed = feed or Feed()
        self.now = now or START
        aggregator = OpenAIChatAggregator()
        usual: dict[str, Any] = {
            "id": uuid7(),
            "session_id": uuid.uuid4(),
            "session_label": "nightly-triage",
            "key_id": None,
            "key_name": "ci-nightly",
            "endpoint": "/v1/chat/completions",
            "wire_format": "openai_chat",
            "is_streaming": True,
            "requested_model": "coder-large",
            "requested_at": self.now,
            "state": aggregator.state,
            "context": ChainContext("run", lambda: self.now),
        }
        self.stream = LiveStream(**usual | changes)
        self._chain = PolicyChain(policies, OpenAIChatComposer(dict(HEAD)))
        self._processor = StreamProcessor(self._chain.on_chunk, aggregator)
        self.feed.opened(self.stream)

    @property
    def id(self) -> uuid.UUID:
        return self.stream.id

    def wait(self, seconds: float) -> Self:
        """Let time pass."""
        self.now += round(seconds * SECOND)
        return self

    async def take(self, *payloads: object) -> Self:
        """Chunks came in one read."""
        stream = self.stream
        for payload in payloads:
            raw = sse(payload)
            chunk = Chunk(len(stream.received_at), self.now, raw, raw[6:-2])
            stream.received_at.append(self.now)
            await self._processor.take((chunk,), stream.context)
        if stream.upstream_first_at is None and stream.state.blocks:
            stream.upstream_first_at = self.now
        self._send()
        self.feed.changed(stream)
        return self

    async def say(self, text: str) -> Self:
        """A piece of content came."""
        return await self.take(delta(content=text))

    async def call(self, arguments: str, name: str | None = None, index: int = 0) -> Self:
        """A piece of a tool call came; `name` with its first."""
        return await self.take(calls(call(index, f"call-{index}" if name else None, name, arguments)))

    def answer(self, number: int, answer: Answer) -> None:
        """A question was answered."""
        self._chain.answer(number, answer, self.stream.state, self.stream.context)
        self._send()
        self.feed.changed(self.stream)

    async def end(self, outcome: str = "completed", error: str = "") -> Self:
        """The end of input, and of the stream."""
        await self._processor.end(self.stream.context)
        self._send()
        finish(self.stream, outcome, self.now)
        self.stream.error = error
        if self.stream.life.allows(Event.CLOSED):
            self.stream.life.step(Event.CLOSED)
        self.feed.closed(self.stream)
        return self

    def _send(self) -> None:
        context = self.stream.context
        frames, context.outbox = context.outbox, []
        passed = [frame.seq for frame in frames if frame.seq is not None]
        self.stream.frame_count += len(frames)
        self.stream.passed_seqs.extend(passed)
        self.stream.passed_at.extend([self.now] * len(passed))
        self.stream.made_at.extend([self.now] * (len(frames) - len(passed)))
        if frames and self.stream.client_first_at is None and self.stream.state.blocks:
            self.stream.client_first_at = self.now


def settle(stream: LiveStream, outcome: str) -> None:
    """It is decided how a stream ends."""
    for event in ENDS[Outcome(outcome)]:
        if stream.life.allows(event):
            stream.life.step(event)


def finish(stream: LiveStream, outcome: str, now: int) -> None:
    """The client has all that it gets of a stream, which ends so."""
    settle(stream, outcome)
    if stream.life.allows(Event.SENT):
        stream.life.step(Event.SENT)
    stream.ended_at = now


class Element:
    """An element of a page: what it is in, and what is in it."""

    def __init__(self, tag: str, attributes: dict[str, str], parent: "Element | None" = None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element | str] = []

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def find(self, element_id: str) -> "Element | None":
        return next((each for each in self.walk() if each.attributes.get("id") == element_id), None)

    def walk(self) -> "list[Element]":
        """All elements in it, itself first."""
        below = [each for child in self.children if isinstance(child, Element) for each in child.walk()]
        return [self, *below]

    def shape(self) -> list[object]:
        """All that can be seen of it, for comparing: neighbouring texts as one."""
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
    """A fragment's elements, under a root. AssertionError where its tags do not match."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert parser._at is parser.root, f"<{parser._at.tag}> is not ended"
    return parser.root


class Page:
    """A browser's page as htmx's out-of-band swaps make it, and the checks that static/js/socket.js does."""

    def __init__(self) -> None:
        self.root = Element("root", {})
        self.expected: int | None = None
        self.kinds: list[str] = []
        self.missing = 0

    def receive(self, message: str) -> None:
        """Take one message as a browser does."""
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
        """What an element says. AssertionError where it is not there."""
        element = self.root.find(element_id)
        assert element is not None, f"nothing has the id {element_id}"
        return element.text

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
    """A stream's row, painted whenever it is looked at, over the wire as another process gets it."""

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
