"""What an MCP server may send: bytes per message and per run, values per message, and requests of its own."""

from dataclasses import replace
from types import TracebackType
from typing import Any

from streamviz.core.json_value import JsonObject
from streamviz.executors.mcp_listing import readable

MESSAGE_BYTES = 1024 * 1024
RUN_BYTES = 256 * 1024 * 1024
# The least that a message, or a piece of one, counts as: reading one takes time, however short it is.
LEAST_BYTES = 1024
# Enough for a ping every four seconds of the longest run.
MOST_REQUESTS = 1_000
# In all lists, and in all objects, of one message: the package finds up to a dozen errors in each value. Some 300 tools
# with rich schemas have as many in a megabyte.
MOST_IN_LISTS = 10_000
MOST_IN_OBJECTS = 50_000
# The part of a result that the package does not look into.
_DATA = "structuredContent"
# The error code of a call whose session the server has forgotten. JSON-RPC reserves no code near it.
FORGOTTEN = 0x464F_5247
_COUNTLESS = "its answer has too many values"


class TooMuch(Exception):
    """A server sent more than it may."""


class Allowance:
    """What a server may still send in a run."""

    def __init__(self) -> None:
        self._left = RUN_BYTES

    def take(self, count: int) -> None:
        """Count a piece of `count` bytes, or with 0 a message within a counted piece. Raises TooMuch."""
        self._left -= max(count, LEAST_BYTES)
        if self._left < 0:
            raise TooMuch(f"it sent more than {RUN_BYTES} bytes in a run")


def failed(id: Any, why: str, code: int | None = None) -> Any:
    """What a session gets instead of the answer to the call with this id."""
    from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError  # imported late, as the package is

    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code or INTERNAL_ERROR, message=why))


class Heard:
    """What a session reads from its server, `stream`. An answer with too many values becomes an error of its call.
    Other messages with too many values are dropped, and so are the server's own requests beyond MOST_REQUESTS, because
    a session answers each in a task of its own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._requests = 0

    @property
    def last_context(self) -> Any:
        """The package's own attribute, if the stream has it."""
        return getattr(self._stream, "last_context", None)

    def __aiter__(self) -> "Heard":
        return self

    async def __anext__(self) -> Any:
        while (item := self._fitting(await anext(self._stream))) is None:
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

    def _fitting(self, item: Any) -> Any:
        """The item as the session gets it; None if it is dropped."""
        from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

        match getattr(item, "message", None):
            case JSONRPCResponse(id=id, result=result):
                is_too_much = _is_too_much([value for name, value in result.items() if name != _DATA])
                message = failed(id, _COUNTLESS) if is_too_much else _with(item.message, readable(result))
                return replace(item, message=message)
            case JSONRPCRequest(params=params):
                self._requests += 1
                return None if self._requests > MOST_REQUESTS or _is_too_much(params) else item
            case JSONRPCNotification(params=params):
                return None if _is_too_much(params) else item
        return item


def _with(message: Any, result: JsonObject) -> Any:
    return message if result is message.result else message.model_copy(update={"result": result})


def _is_too_much(value: object) -> bool:
    """Whether it has more values than any useful message."""
    in_lists, in_objects, waiting = 0, 0, [value]
    while waiting and in_lists <= MOST_IN_LISTS and in_objects <= MOST_IN_OBJECTS:
        each = waiting.pop()
        if isinstance(each, list):
            in_lists += len(each)
            waiting.extend(each)
        elif isinstance(each, dict):
            in_objects += len(each)
            waiting.extend(each.values())
    return in_lists > MOST_IN_LISTS or in_objects > MOST_IN_OBJECTS
