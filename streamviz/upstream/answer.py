"""What both lanes give: a provider's answer, as bytes that come bit by bit."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol


class Answer(Protocol):
    """An answer that has begun: upstream accepted the request.

    Iterating gives the body's bytes as they come and raises UpstreamError where it breaks off. `close` ends the
    connection at once, also in the middle.
    """

    status: int
    headers: Mapping[str, str]

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...
