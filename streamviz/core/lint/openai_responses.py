"""The rules of the events of OpenAI's responses."""

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.lint.linter import EVERYWHERE, Linter, number_in

LAST = ("response.completed", "response.failed", "response.incomplete")
# What comes in deltas, and the member of the event that has all of it.
_WHOLE = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.function_call_arguments": "arguments",
    "response.reasoning_text": "text",
    "response.reasoning_summary_text": "text",
    "response.custom_tool_call_input": "input",
}


class OpenAIResponsesLinter(Linter):
    """Numbered events, named by their type: items that are added, sent in deltas and done, then the response."""

    rules = {
        **EVERYWHERE,
        "event_name_differs": "an event's name is its type",
        "sequence_number_missing": "each event has a sequence_number",
        "sequence_number_skips": "sequence numbers go up by one",
        "foreign_end_mark": "there is no [DONE]",
        "item_overlaps": "an item is done before the next is added",
        "item_id_changes": "an item keeps its id",
        "index_reused": "each block, item or call has an index of its own",
        "deltas_differ": "deltas add up to what is done",
        "usage_missing": "a finished stream reports its usage",
    }

    def __init__(self) -> None:
        super().__init__()
        self._number: int | None = None
        self._items: dict[int | None, str] = {}
        self._open: set[int | None] = set()
        self._told: dict[tuple[str | int | None, ...], list[str]] = {}

    def _read_done(self) -> None:
        self._note("foreign_end_mark", "[DONE] at the end")

    def _read(self, payload: JsonObject, name: str) -> None:
        kind = as_text(payload.get("type"))
        if name != kind:
            self._note("event_name_differs", "the event has a different name, or none")
        self._read_number(payload.get("sequence_number"))
        if kind == "response.output_item.added":
            self._add(payload)
        elif kind == "response.output_item.done":
            self._done(payload)
        elif kind in LAST:
            self._last(kind, as_object(payload.get("response")))
        elif kind == "error":
            self._has_failed = True
        else:
            self._tell(kind, payload)

    def _read_number(self, number: object) -> None:
        if not isinstance(number, int):
            self._note("sequence_number_missing", "no sequence_number")
            return
        if self._number is not None and number != self._number + 1:
            self._note("sequence_number_skips", f"{number} after {self._number}")
        self._number = number

    def _add(self, payload: JsonObject) -> None:
        index, item = number_in(payload, "output_index"), as_object(payload.get("item"))
        if self._open:
            self._note("item_overlaps", "an item is added before the last is done")
        if index in self._items:
            self._note("index_reused", f"output_index {index} again")
        self._items[index] = as_text(item.get("id"))
        self._open.add(index)

    def _done(self, payload: JsonObject) -> None:
        index = number_in(payload, "output_index")
        self._open.discard(index)
        self._same_id(index, as_object(payload.get("item")))

    def _same_id(self, index: int | None, item: JsonObject) -> None:
        known, id = self._items.get(index), as_text(item.get("id"))
        if known and id and known != id:
            self._note("item_id_changes", "an item has a different id than when it was added")

    def _tell(self, kind: str, payload: JsonObject) -> None:
        what, _, how = kind.rpartition(".")
        if what not in _WHOLE:
            return
        place = tuple(number_in(payload, name) for name in ("output_index", "content_index", "summary_index"))
        if how == "delta":
            self._told.setdefault((what, *place), []).append(as_text(payload.get("delta")))
        elif how == "done" and "".join(self._told.pop((what, *place), [])) != as_text(payload.get(_WHOLE[what])):
            self._note("deltas_differ", f"{_WHOLE[what]} is not what the deltas add up to")

    def _last(self, kind: str, response: JsonObject) -> None:
        self._has_ended = True
        if kind == "response.completed" and not as_object(response.get("usage")):
            self._note("usage_missing", "no usage")
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            self._same_id(index, as_object(item))

    def _end(self) -> None:
        return
