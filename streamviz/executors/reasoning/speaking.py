"""What a run tells its client: the chat chunks of one stream, whatever they are made from."""

from collections.abc import Awaitable, Callable

from streamviz.core.json_value import JsonObject, as_object, objects

# Fields of which a stream has one value, however many calls it is made from.
_ONE_FOR_ALL = frozenset({"id", "created", "model", "object", "usage"})
Put = Callable[[JsonObject], Awaitable[None]]


class Speaker:
    """Gives `put` the payloads of one stream's chunks: with one id, one time and one role, and usage at the end.

    Events themselves have only words and numbers; any text with them is sent as thinking, where policies read it.
    """

    def __init__(self, head: JsonObject, put: Put, *, tells_events: bool) -> None:
        self._head = {**head, "object": "chat.completion.chunk"}
        self._put = put
        self._tells_events = tells_events
        self._has_role = False

    async def event(self, type: str, text: str = "", **about: object) -> None:
        """Report an event of the run; `text` is what the client reads about it."""
        delta: JsonObject = {"reasoning_content": text} if text else {}
        if self._tells_events:
            delta["reasoning_event"] = {"type": type, **about}
        if delta:
            await self._say({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    async def pass_on(self, payload: JsonObject) -> None:
        """Pass on a chunk of the answer with everything that its provider put into it, except usage, which is that
        call's alone."""
        kept = {name: value for name, value in payload.items() if name not in _ONE_FOR_ALL}
        if payload.get("usage") and not objects(payload.get("choices")):
            return
        await self._say(kept)

    async def end(self, usage: JsonObject | None) -> None:
        """Report the usage of all calls."""
        if usage:
            await self._say({"choices": [], "usage": usage})

    async def _say(self, fields: JsonObject) -> None:
        choices = [self._with_role(choice) for choice in objects(fields.get("choices"))]
        await self._put({**self._head, **fields, "choices": choices})

    def _with_role(self, choice: JsonObject) -> JsonObject:
        delta = {name: value for name, value in as_object(choice.get("delta")).items() if name != "role"}
        if not self._has_role:
            self._has_role = True
            delta = {"role": "assistant", **delta}
        return {**choice, "delta": delta}
