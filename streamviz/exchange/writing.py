"""What the client gets that upstream did not send: keep-alives, and the end of a broken stream."""

import logging
from collections.abc import Callable
from functools import partial

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.composer import Composer
from streamviz.core.context import OURSELVES, Frame
from streamviz.core.events import StreamFailed
from streamviz.core.json_value import JsonObject
from streamviz.core.sse import SSEEvent, SSEParser
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.clients import asks_again_for_incomplete, fitted
from streamviz.exchange.stream import LiveStream

log = logging.getLogger(__name__)


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
            self._composer = fitted(self._new_composer(), self._stream)
        return self._composer

    @property
    def tells_final_refusals(self) -> bool:
        """Whether the client would ask for the rest of an answer that upstream's filter ended."""
        is_incomplete = self._format.is_incomplete_if_filtered and self._stream.is_streaming
        return is_incomplete and asks_again_for_incomplete(self._stream)

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
            raw = fitted(self._format.composer({}), self._stream).fail(failure)
        return Frame(b"\n\n" + raw if is_amid_event else raw, None, OURSELVES)

    def _catch_up(self) -> None:
        """Tell a composer that had nothing to do so far what has been sent."""
        if (passed := self.passed) is not None:
            [event] = SSEParser().feed(passed.raw) or [SSEEvent(passed.raw, None)]
            chunk = Chunk(passed.seq or 0, 0, event.raw, event.data, event.name)
            self.composer.catch_up(self._aggregator, chunk)
