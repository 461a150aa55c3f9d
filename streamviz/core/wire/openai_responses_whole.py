"""The whole response as the client is to have it: in its first and last frames, or as a single answer."""

from collections.abc import Iterator, Mapping

from streamviz.core.errors import FINAL, RESET, TOLD_FINAL, Denied
from streamviz.core.events import StreamFailed
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text
from streamviz.core.wire.openai_responses_frames import response_in
from streamviz.core.wire.openai_responses_items import Frame, close
from streamviz.core.wire.openai_responses_message import kept_head, text_of
from streamviz.core.wire.openai_responses_output import ClientOutput
from streamviz.core.wire.translation import OPENAI_RESPONSES, Ending, ending_of, translate_reason

# A response without calls has the same status as one with them.
FINISH_WITHOUT_CALLS: Mapping[str, str] = {}
# Not a status of the format: it is written as `incomplete`, with this as the reason in the details.
HALTED = "content_filter"
_ENDED = ("completed", "incomplete", "failed", "cancelled")
_EMPTY: JsonObject = {
    "id": "",
    "object": "response",
    "created_at": 0,
    "model": "",
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}
_SERVER_ERROR = "server_error"
# Without these numbers Vercel's SDK, and opencode with it, does not recognise the end of an answer; opencode then keeps
# asking for ever. Codex reads no usage at all if a part lacks its number. No request has 0 tokens: for a 0 the record
# has an estimate.
_UNTOLD: JsonObject = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


class ResponseWriter(ClientOutput):
    """Writes the response itself, upstream's own or a composed one, and begins and ends it."""

    def __init__(self, head: JsonObject, source: str = "") -> None:
        super().__init__(head, source)
        self._has_calls = False
        self._reason = ""
        self._last_word: int | None = None
        self._failure: StreamFailed | None = None

    def whole(self, response: JsonObject) -> JsonObject:
        """`response`, upstream's own, as the client is to have it."""
        told = {**kept_head(response), "output": self._output(response)}
        if "output_text" in response:
            told["output_text"] = text_of(told["output"] if isinstance(told["output"], list) else [])
        return told

    def _status(self) -> str:
        if self._reason == HALTED or not self._reason:
            return "incomplete"
        return translate_reason(
            self._reason, self._source or OPENAI_RESPONSES, OPENAI_RESPONSES, has_calls=self._has_calls
        )

    def _response_frame(self, payload: JsonObject) -> JsonObject:
        """Upstream's own frame of a whole response, with the items that the client has."""
        response = as_object(payload.get("response"))
        self._has_begun = True
        if response.get("status") in _ENDED or as_text(payload.get("type")).removeprefix("response.") in _ENDED:
            self._is_finished = True
        return {**payload, "response": self.whole(response)}

    def _begin(self) -> Iterator[Frame]:
        if not self._has_begun:
            self._has_begun = True
            yield "response.created", {"response": self._response("in_progress")}
            yield "response.in_progress", {"response": self._response("in_progress")}

    def _finish(self) -> Iterator[Frame]:
        if self._is_finished:
            return
        yield from self._begin()
        upstreams = None if self._reason == HALTED else response_in(self._payload)
        if self._reason in ("", "failed", HALTED):
            yield from self._break_off()
        for item in self._items:
            yield from close(item)
        if self._reason == HALTED and self.asks_again_for_incomplete:
            self._reason, self._failure = "failed", StreamFailed(self._last_text(), code=Denied.CODE)
        status = self._status()
        word = status if status in ("incomplete", "failed") else "completed"
        whole = self._response(status) if upstreams is None else self.whole(upstreams)
        yield f"response.{word}", {"response": whole}
        self._is_finished = True

    def _break_off(self) -> Iterator[Frame]:
        """End what is open as unfinished. Clients keep items in the order in which they end."""
        for item in self._items:
            yield from close(item, "incomplete" if item.open else "completed")

    def _error(self, failure: StreamFailed) -> Iterator[Frame]:
        has_begun = self._has_begun
        yield from self._begin()
        code = _code_of(failure) or failure.kind or None
        told: JsonObject = {"code": code, "message": failure.message, "param": None}
        # Clients recognise an error in place of an answer by this member, and raise.
        yield "error", told if has_begun else {**told, "error": {**told, "type": failure.kind or _SERVER_ERROR}}

    def _response(self, status: str) -> JsonObject:
        own = {"id", "created_at", "model"}
        head = {key: value for key, value in kept_head(self._head).items() if key in own or not self._is_foreign}
        ended = status != "in_progress"
        error: JsonObject | None = None
        if self._failure is not None:
            code = _code_of(self._failure) or _SERVER_ERROR
            error = {"code": TOLD_FINAL if code in FINAL else code, "message": self._failure.message}
        return {
            **_EMPTY,
            **head,
            "status": status,
            "error": error,
            "incomplete_details": self._incomplete_details() if status == "incomplete" else None,
            "output": self._all() if ended else [],
            "usage": self._usage_at(status),
        }

    def _usage_at(self, status: str) -> JsonObject | None:
        has_none = status == "in_progress" or (status == "failed" and self._usage is None)
        return None if has_none else _in_numbers(self._usage or {})

    def _all(self) -> list[JsonObject]:
        return [item.whole() for item in sorted(self._items, key=lambda item: item.place)]

    def _last_text(self) -> str:
        """What the policy that halted the answer said about it."""
        return text_of([self._items[-1].whole()])

    def _incomplete_details(self) -> object:
        if (told := self._head.get("incomplete_details")) and not self._is_foreign:
            return told
        if self._reason == HALTED:
            return {"reason": HALTED}
        ending = ending_of(self._reason, self._source or OPENAI_RESPONSES)
        return {"reason": "content_filter" if ending is Ending.FILTERED else "max_output_tokens"}


def _in_numbers(usage: JsonObject) -> JsonObject:
    """Usage with every count of the format, as clients need it."""
    told = {name: value for name, value in usage.items() if value is not None}
    parts = {
        name: {**untold, **as_object(told.get(name))} for name, untold in _UNTOLD.items() if isinstance(untold, dict)
    }
    total = sum(as_index(told.get(name)) or 0 for name in ("input_tokens", "output_tokens"))
    return {**_UNTOLD, "total_tokens": total, **told, **parts}


def _code_of(failure: StreamFailed) -> str:
    """Its code in OpenAI's words, by which opencode knows that it may ask again."""
    return _SERVER_ERROR if failure.code == RESET else failure.code
