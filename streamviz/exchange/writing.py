"""What the client gets that upstream did not send: keep-alives, and the end of a broken stream."""

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
from streamviz.core.wire import OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.stream import LiveStream

log = logging.getLogger(__name__)
# Gemini CLI and Qwen Code contain such an SDK.
_OLD_NODE_SDK_OF_GOOGLE = re.compile(r"geminicli|qwencode|google-genai-sdk/[12]\.\S{1,30} gl-node/", re.IGNORECASE)
_VIBE = re.compile(r"(mistral-client-python/)?mistral-vibe/|python-httpx/", re.IGNORECASE)


def is_codex(user_agent: str) -> bool:
    """Whether a client identifies itself as Codex. Codex gives up on a stream that sends no event for long, whatever
    else it sends, and retries five times after a 403."""
    return user_agent.lower().startswith("codex")


def is_vibe(stream: LiveStream) -> bool:
    """Whether its client is Mistral Vibe. Its user agent is its own, with or without that of Mistral's SDK before it,
    or httpx's. Other clients send the header too, because Mistral's API reads it."""
    return "x-affinity" in stream.request_headers and _VIBE.match(stream.user_agent) is not None


def asks_again_for_incomplete(stream: LiveStream) -> bool:
    """Whether its client asks for the rest of an incomplete answer: Codex does so five times, Mistral Vibe six times,
    Factory's Droid without end."""
    is_droid = stream.user_agent.lower().startswith("factory-cli")
    return is_codex(stream.user_agent) or is_droid or is_vibe(stream)


def is_copilot(headers: Mapping[str, str]) -> bool:
    """Whether a client sends the headers of Copilot CLI, whose user agent is that of OpenAI's SDK."""
    return "x-interaction-type" in headers


def reads_events_alone(headers: Mapping[str, str]) -> bool:
    """Whether a client sends the header of `@google/generative-ai`, Google's first SDK for Node, which is part of
    LangChain's. It stops reading at an empty line between events, and takes an error for an answer without text."""
    # Programs that use it, such as Genkit, may name themselves before it.
    return any(word.startswith("genai-js/") for word in headers.get("x-goog-api-client", "").split())


def asks_again_after_errors(stream: LiveStream) -> bool:
    """Whether its client asks again after any error in mid-stream. Kimi Code does, whatever the error says. Mistral
    Vibe in chat and Google's first SDK for Node see no error there, and take the stream for a broken or empty one."""
    is_kimi = stream.user_agent.lower().startswith("kimi-code-cli")
    overlooks_errors = is_vibe(stream) and stream.wire_format == OPENAI_CHAT.name
    return is_kimi or overlooks_errors or reads_events_alone(stream.request_headers)


def wants_bare_errors(user_agent: str) -> bool:
    """Whether a client of this name takes an error event within a Gemini stream for an answer without text, and asks
    again. It recognises only errors sent on their own, without `data:`, as Google sends them."""
    return _OLD_NODE_SDK_OF_GOOGLE.search(user_agent) is not None


class Writing:
    """The composer of one answer, set up for its client, and what it has to know for the end."""

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
        # The last frame sent while no policy was there, of which the composer was not told.
        self.passed: Frame | None = None

    @property
    def composer(self) -> Composer:
        """The composer; made on first use, as most streams need none."""
        if self._composer is None:
            self._composer = self._for_client(self._new_composer())
        return self._composer

    @property
    def tells_final_refusals(self) -> bool:
        """Whether the client would ask for the rest of an answer that upstream's filter ended."""
        is_responses = self._format is OPENAI_RESPONSES
        return is_responses and self._stream.is_streaming and asks_again_for_incomplete(self._stream)

    def of_events(self) -> None:
        """Write events from here on."""
        self._write_by(partial(self._format.composer, self._aggregator.head))

    def of_body(self) -> None:
        """Write a whole answer."""
        self._write_by(partial(self._format.body_composer, self._aggregator.body))

    def of_an_error(self, *, are_events: bool) -> None:
        """Write only an error and nothing of upstream's answer, as an event if the client asked for events."""
        self._write_by(partial(self._format.composer if are_events else self._format.body_composer, {}))

    def _write_by(self, new_composer: Callable[[], Composer]) -> None:
        self._composer, self._new_composer = None, new_composer

    def _for_client(self, composer: Composer) -> Composer:
        composer.counts_events = is_codex(self._stream.user_agent)
        composer.asks_again_for_incomplete = asks_again_for_incomplete(self._stream)
        composer.knows_openai_codes_alone = is_copilot(self._stream.request_headers)
        composer.asks_again_after_errors = asks_again_after_errors(self._stream)
        composer.reads_events_alone = reads_events_alone(self._stream.request_headers)
        composer.has_bare_errors = wants_bare_errors(self._stream.user_agent)
        return composer

    def keep_alive(self) -> Frame:
        """A frame that shows the client that the connection is alive."""
        return Frame(self.composer.keep_alive(), None, OURSELVES)

    def last_words(self, failure: StreamFailed, *, is_amid_event: bool) -> Frame:
        """The frame that ends a broken stream. If the stream broke off within an event, it first ends that event, which
        would swallow the frame."""
        try:
            self._catch_up()
            raw = self.composer.fail(failure)
        except Exception:  # The cause may have broken the composer too; a new one can still write an error.
            log.exception("the end of stream %s could not be composed", self._stream.id)
            raw = self._for_client(self._format.composer({})).fail(failure)
        return Frame(b"\n\n" + raw if is_amid_event else raw, None, OURSELVES)

    def _catch_up(self) -> None:
        """Tell a composer that had nothing to do so far what has been sent."""
        if (passed := self.passed) is not None:
            [event] = SSEParser().feed(passed.raw) or [SSEEvent(passed.raw, None)]
            chunk = Chunk(passed.seq or 0, 0, event.raw, event.data, event.name)
            self.composer.catch_up(self._aggregator, chunk)
