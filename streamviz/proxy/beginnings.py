"""How an answer begins: that says what it is, events or one JSON value, whatever its content type says."""

from collections.abc import AsyncIterator

from streamviz.core.errors import UpstreamError
from streamviz.core.sse import BOM, SSEParser

_SPACE = b" \t\r\n"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def are_events(beginning: bytes, says_so: bool, are_asked: bool) -> bool:
    """Whether what begins so is events; `says_so` is what its content type says, `are_asked` whether the request asks
    for events. What is neither they nor JSON is what it says it is."""
    if beginning[:1] in (b"{", b"["):
        return False
    return says_so or (are_asked and beginning.startswith(_FIELDS))


def has_events(body: bytes) -> bool:
    """Whether clients that read events find some in a body."""
    parser = SSEParser()
    return any(event.data is not None for event in parser.feed(body) + parser.close())


class Begun:
    """What an upstream sends, with a look at its beginning before it is read."""

    def __init__(self, reads: AsyncIterator[bytes]) -> None:
        self._reads = reads
        self._first: list[bytes] = []
        self._broken: UpstreamError | None = None

    async def look(self) -> bytes:
        """What there is behind white space, of as many reads as that takes. What breaks off is told when it is read."""
        try:
            async for data in self._reads:
                self._first.append(data)
                if beginning := b"".join(self._first).removeprefix(BOM).lstrip(_SPACE):
                    return beginning
        except UpstreamError as error:
            self._broken = error
        return b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for data in self._first:
            yield data
        if self._broken is not None:
            raise self._broken
        async for data in self._reads:
            yield data
