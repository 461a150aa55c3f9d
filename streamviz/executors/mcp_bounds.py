"""What an MCP server may send: so much at once, so much in a run, and so many requests of its own."""

from types import TracebackType
from typing import Any

MESSAGE_BYTES = 1024 * 1024
RUN_BYTES = 256 * 1024 * 1024
# What a message, or a piece of one, counts as at least: to read one takes its time however short it is.
LEAST_BYTES = 1024
# A ping every four seconds of the longest run.
MOST_REQUESTS = 1_000


class TooMuch(Exception):
    """A server sent more than anybody reads."""


class Allowance:
    """What a server may still send in a run."""

    def __init__(self) -> None:
        self._left = RUN_BYTES

    def take(self, count: int) -> None:
        """So many bytes came in one piece, or a message in what was counted. Raises TooMuch."""
        self._left -= max(count, LEAST_BYTES)
        if self._left < 0:
            raise TooMuch(f"it sent more than {RUN_BYTES} bytes in a run")


class Heard:
    """What a session reads of its server, `stream`, but for requests of the server's beyond those that anybody needs: a
    session answers each in a task of its own, however many they are."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._requests = 0

    @property
    def last_context(self) -> Any:
        """The package's own, where it has one."""
        return getattr(self._stream, "last_context", None)

    def __aiter__(self) -> "Heard":
        return self

    async def __anext__(self) -> Any:
        while self._is_too_many(item := await anext(self._stream)):
            pass
        return item

    async def receive(self) -> Any:
        return await anext(self)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> "Heard":
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stream.__aexit__(kind, error, trace)

    def _is_too_many(self, item: Any) -> bool:
        from mcp_types import JSONRPCRequest  # loaded where it is needed, as the package is

        if not isinstance(getattr(item, "message", None), JSONRPCRequest):
            return False
        self._requests += 1
        return self._requests > MOST_REQUESTS
