"""The rules of Gemini's streams of GenerateContentResponse."""

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.lint.linter import EVERYWHERE, Linter, objects_in


class GeminiLinter(Linter):
    """Responses one after another: the last of a candidate has its finishReason, the last of all the usage."""

    rules = {
        "not_json": EVERYWHERE["not_json"],
        "event_named": "events have no name",
        "call_without_name": "a functionCall has a name",
        "finish_missing": "each answer says why it ended",
        "after_finish": "nothing follows the reason why an answer ended",
        "usage_missing": "a finished stream reports its usage",
        "foreign_end_mark": "there is no [DONE]",
    }

    def __init__(self) -> None:
        super().__init__()
        self._candidates: dict[int, bool] = {}
        self._has_usage = False
        self._continued: set[int] = set()
        self._is_blocked = False

    def _may_follow(self, payload: JsonObject) -> bool:
        return True

    def _read_done(self) -> None:
        self._note("foreign_end_mark", "[DONE] at the end")

    def _read(self, payload: JsonObject, name: str) -> None:
        if name:
            self._note("event_named", "the event has a name")
        self._has_failed |= "error" in payload
        self._has_usage |= bool(as_object(payload.get("usageMetadata")))
        self._is_blocked |= bool(payload.get("promptFeedback"))
        for candidate in objects_in(payload.get("candidates")):
            index = candidate.get("index")
            self._read_candidate(candidate, index if isinstance(index, int) else 0)

    def _read_candidate(self, candidate: JsonObject, index: int) -> None:
        parts = objects_in(as_object(candidate.get("content")).get("parts"))
        if self._candidates.get(index) and any(part.get("text") or "functionCall" in part for part in parts):
            self._note("after_finish", "more after finishReason")
        for part in parts:
            if "functionCall" in part:
                self._read_call(as_object(part["functionCall"]), index)
        self._candidates[index] = self._candidates.get(index, False) or bool(as_text(candidate.get("finishReason")))

    def _read_call(self, call: JsonObject, candidate: int) -> None:
        """Arguments may be streamed: the pieces after the first have no name."""
        if not as_text(call.get("name")) and candidate not in self._continued:
            self._note("call_without_name", "a functionCall without a name")
        (self._continued.add if call.get("willContinue") else self._continued.discard)(candidate)

    def end(self, is_whole: bool = True) -> None:
        """As in all formats, but a stream ends with its last candidate's finishReason."""
        self._has_ended = True
        super().end(is_whole)

    def _end(self) -> None:
        if not all(self._candidates.values()) or not (self._candidates or self._is_blocked):
            self._note("finish_missing", "no finishReason came")
        if not self._has_usage:
            self._note("usage_missing", "no usageMetadata came")
