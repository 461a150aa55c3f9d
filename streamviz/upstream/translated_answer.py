"""The answer to a call that LiteLLM makes, as its caller reads it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from streamviz.core.errors import UpstreamError
from streamviz.core.wire.translator import Translator
from streamviz.upstream.failures import as_upstream_error
from streamviz.upstream.quoted_keys import QuotedKey

# The event loop itself does not keep tasks alive.
_closing: set[asyncio.Future[None]] = set()


class Opened(NamedTuple):
    """The bytes of an answer, what to close when no more of them are wanted, and what writes them, if they are written
    here."""

    pieces: AsyncIterator[bytes]
    source: object
    translator: Translator | None = None


class TranslatedAnswer:
    """An answer whose bytes are written here: server-sent events for a stream, otherwise one JSON body.

    `key` is the credential of the call, which is masked in the answer, and `fitted` is what was left out of the
    request.
    """

    status = 200
    has_ended = False

    def __init__(
        self,
        opened: Opened,
        kind: str,
        silence_seconds: float,
        key: str = "",
        fitted: tuple[str, ...] = (),
    ) -> None:
        self._fitted = fitted
        self._key = key
        self._pieces, self._source, self._translator = opened
        self._silence_seconds = silence_seconds
        self.headers: Mapping[str, str] = {"content-type": kind}

    @property
    def left_out(self) -> tuple[str, ...]:
        """What had no place in the request, and then what had none in the answer."""
        return self._fitted if self._translator is None else self._fitted + self._translator.left_out

    async def __aiter__(self) -> AsyncIterator[bytes]:
        quoted = QuotedKey(self._key)
        try:
            while True:
                async with asyncio.timeout(self._silence_seconds):
                    piece = await anext(self._pieces, None)
                if told := quoted.rest() if piece is None else quoted.without(piece):
                    yield told
                if piece is None:
                    return
                # What LiteLLM has buffered comes without a pause: other streams must not wait for its end.
                await asyncio.sleep(0)
        except TimeoutError as error:
            raise UpstreamError(504, "upstream was silent for too long") from error
        except UpstreamError:
            raise
        except Exception as error:  # LiteLLM's errors have no common base, and its iterators raise what they meet.
            raise as_upstream_error(error, self._key, was_accepted=True) from error

    def close(self) -> None:
        """Close the answer. LiteLLM's streams are closed by a coroutine, which is left to the event loop."""
        if aclose := getattr(self._source, "aclose", None):
            closing = asyncio.ensure_future(aclose())
            _closing.add(closing)
            closing.add_done_callback(_closing.discard)
