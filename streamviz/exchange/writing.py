"""What the client gets that upstream did not say: keep-alives, and the end of a stream that broke."""

import logging
import re
from collections.abc import Callable, Mapping
from functools import partial

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.composer import Composer
from streamviz.core.context import OURSELVES, Frame
from streamviz.core.events import StreamFailed
from streamviz.core.json_value import JsonObject
from streamviz.core.sse import SSEEvent, SSEParser
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.stream import LiveStream

log = logging.getLogger(__name__)
# Gemini CLI and Qwen Code have such an SDK in them.
_OLD_NODE_SDK_OF_GOOGLE = re.compile(r"geminicli|qwencode|google-genai-sdk/[12]\.\S{1,30} gl-node/", re.IGNORECASE)


def is_codex(user_agent: str) -> bool:
    """Whether a client calls itself so. It gives up a stream that brings no event for long, whatever else it brings,
    and asks five times more after a 403."""
    return user_agent.lower().startswith("codex")


def asks_again_for_incomplete(user_agent: str) -> bool:
    """Whether a client of this name asks again for the rest of an incomplete answer: Codex does five times, Factory's
    Droid without end."""
    return is_codex(user_agent) or user_agent.lower().startswith("factory-cli")


def is_copilot(headers: Mapping[str, str]) -> bool:
    """Whether a client sends what Copilot CLI does, which calls itself as OpenAI's SDK."""
    return "x-interaction-type" in headers


def wants_bare_errors(user_agent: str) -> bool:
    """Whether a client calls itself so that takes an error's event, amid a stream of Gemini's, for an answer without
    words, and asks again: it knows errors that come by themselves, without `data:`, as Google's."""
    return _OLD_NODE_SDK_OF_GOOGLE.search(user_agent) is not None


class Writing:
    """The composer of one answer, which writes as its client reads, and what it has to know for the end."""

    def __init__(self, stream: LiveStream, wire_format: WireFormat, aggregator: Aggregator[Chunk, JsonObject]) -> None:
        self._stream = stream
        self._format = wire_format
        self._aggregator = aggregator
        self._composer: Composer | None = None
        self._new_composer: Callable[[], Composer]
        if stream.is_streaming:
            self.of_events()
        else:
            self.of_an_error(are_events=False)
        # The last that went through while the composer was told of nothing, as no policy was there.
        self.passed: Frame | None = None

    @property
    def composer(self) -> Composer:
        """What writes frames; most streams need none."""
        if self._composer is None:
            self._composer = self._for_client(self._new_composer())
        return self._composer

    def of_events(self) -> None:
        """Events are to be written from here on."""
        self._write_by(partial(self._format.composer, self._aggregator.head))

    def of_body(self) -> None:
        """A whole answer is."""
        self._write_by(partial(self._format.body_composer, self._aggregator.body))

    def of_an_error(self, *, are_events: bool) -> None:
        """Nothing of upstream's answer goes out: an error alone, in events where the client asked for them."""
        self._write_by(partial(self._format.composer if are_events else self._format.body_composer, {}))

    def _write_by(self, new_composer: Callable[[], Composer]) -> None:
        self._composer, self._new_composer = None, new_composer

    def _for_client(self, composer: Composer) -> Composer:
        composer.counts_events = is_codex(self._stream.user_agent)
        composer.asks_again_for_incomplete = asks_again_for_incomplete(self._stream.user_agent)
        composer.knows_openai_codes_alone = is_copilot(self._stream.request_headers)
        composer.has_bare_errors = wants_bare_errors(self._stream.user_agent)
        return composer

    def keep_alive(self) -> Frame:
        """What shows the client that the connection lives."""
        return Frame(self.composer.keep_alive(), None, OURSELVES)

    def last_words(self, failure: StreamFailed, *, is_amid_event: bool) -> Frame:
        """What ends a broken stream, also one that broke off amid an event, which would swallow it."""
        try:
            self._catch_up()
            raw = self.composer.fail(failure)
        except Exception:  # What broke the stream can have broken its composer; a new one knows an error's own frames.
            log.exception("the end of stream %s could not be composed", self._stream.id)
            raw = self._for_client(self._format.composer({})).fail(failure)
        return Frame(b"\n\n" + raw if is_amid_event else raw, None, OURSELVES)

    def _catch_up(self) -> None:
        """A composer that had nothing to do learns first what went through."""
        if (passed := self.passed) is not None:
            [event] = SSEParser().feed(passed.raw) or [SSEEvent(passed.raw, None)]
            chunk = Chunk(passed.seq or 0, 0, event.raw, event.data, event.name)
            self.composer.catch_up(self._aggregator, chunk)
