"""What both lanes return: a provider's answer, as bytes that come bit by bit."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from streamviz.core.bounds import Bounds


class Answer(Protocol):
    """An answer that has begun: upstream accepted the request.

    Iterating gives the body's bytes as they come, and raises UpstreamError if the body breaks off. `close` ends the
    connection at once, even in the middle. `left_out` names what the provider could not take of the request and, so
    far, what of the answer has no place in the client's format. `has_ended` says whether it is already known that
    nothing more comes, so that the end of the response can be sent with the last bytes.
    """

    status: int
    headers: Mapping[str, str]

    @property
    def left_out(self) -> tuple[str, ...]: ...

    @property
    def has_ended(self) -> bool: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...


class BoundedAnswer:
    """An answer that is cut off at its bounds: what was read is passed on, and then an UpstreamError is raised."""

    def __init__(self, answer: Answer, bounds: Bounds) -> None:
        self._answer = answer
        self._bounds = bounds
        self.status = answer.status
        self.headers = answer.headers
        self._pieces = aiter(answer)
        self._received = 0

    @property
    def left_out(self) -> tuple[str, ...]:
        """As the answer has it."""
        return self._answer.left_out

    @property
    def has_ended(self) -> bool:
        """As the answer has it, but never for one that is too long, so that its end is read and raises the error."""
        return self._answer.has_ended and self._received <= self._bounds.answer_bytes

    def __aiter__(self) -> "BoundedAnswer":
        return self

    async def __anext__(self) -> bytes:
        self._bounds.require_bytes(self._received)
        piece = await anext(self._pieces)
        self._received += len(piece)
        return piece

    def close(self) -> None:
        self._answer.close()
