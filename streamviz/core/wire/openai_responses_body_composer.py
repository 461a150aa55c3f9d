"""Writing a whole response of OpenAI's, as one body."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from streamviz.core.aggregator import Chunk
from streamviz.core.composer import Composer
from streamviz.core.events import BlockStarted, StreamEvent, StreamFailed, StreamFinished
from streamviz.core.json_value import JsonObject, encode, objects
from streamviz.core.wire.openai_chat_composer import error_body
from streamviz.core.wire.openai_responses_composer import FINISH_WITHOUT_CALLS, HALTED, OpenAIResponsesComposer
from streamviz.core.wire.translation import OPENAI_RESPONSES


class OpenAIResponsesBodyComposer(Composer):
    """Writes a whole answer anew from upstream's own, `body`, keeping every field that policies do not touch."""

    finish_without_calls: ClassVar[Mapping[str, str]] = FINISH_WITHOUT_CALLS
    finish_halted = HALTED

    def __init__(self, body: JsonObject) -> None:
        self._body = body

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        """Nothing follows an answer that went through whole."""

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        if not any(isinstance(event, BlockStarted) for event in events):
            # The body came as one chunk; these are what the end of input adds.
            return []
        items = dict(enumerate(objects(self._body.get("output"))))
        composer = OpenAIResponsesComposer(self._body, items, OPENAI_RESPONSES)
        composer.compose([event for event in events if not isinstance(event, StreamFailed)])
        body = {**self._body, "output": composer.output()}
        if any(isinstance(event, StreamFinished) and event.reason == HALTED for event in events):
            body |= {"status": "incomplete", "incomplete_details": {"reason": HALTED}}
        return [encode(body)]

    def keep_alive(self) -> bytes:
        # White space before a JSON value means nothing.
        return b" "

    def fail(self, failure: StreamFailed) -> bytes:
        return encode(error_body(failure.message, failure.kind or "upstream_error", failure.code or None))
