"""Results of calls that Google runs itself: the client does not get those of denied calls."""

from collections.abc import Iterable

from streamviz.core.json_value import JsonObject, as_object, as_text, object_in

_CODE = ("executableCode", "executable_code")
_CODE_RESULTS = ("codeExecutionResult", "code_execution_result")
_RESULTS = ("toolResponse", "tool_response", *_CODE_RESULTS)


class DeniedCalls:
    """The denied calls of an answer, by ordinal and by id. Code has no id: its result follows it."""

    def __init__(self) -> None:
        self._labels: dict[int, str] = {}
        self._ids: set[str] = set()
        # The candidates whose last code was denied, and the blocks that are results of it.
        self._without_code: set[int] = set()
        self._gone: set[int] = set()

    def add(self, ordinal: int, label: str, id: str) -> None:
        """Note that a call is denied."""
        self._labels[ordinal] = label
        if id:
            self._ids.add(id)

    def takes(self, choice: int, part: JsonObject, ordinals: Iterable[int]) -> bool:
        """Whether a part belongs to a denied call. To be called for each part, in order; `ordinals` are its blocks."""
        if any(label in part for label in _CODE):
            is_denied = any(ordinal in self._labels for ordinal in ordinals)
            (self._without_code.add if is_denied else self._without_code.discard)(choice)
        if choice in self._without_code and any(label in part for label in _CODE_RESULTS):
            return True
        return any(as_text(as_object(part.get(label)).get("id")) in self._ids for label in _RESULTS)

    def begin(self, ordinal: int, choice: int, label: str) -> None:
        """Note that a composed block begins."""
        if self.takes(choice, {self._labels.get(ordinal, label): {}}, [ordinal]):
            self._gone.add(ordinal)

    def takes_block(self, ordinal: int, label: str, text: str) -> bool:
        """Whether a composed block belongs to a denied call."""
        return ordinal in self._gone or (label in _RESULTS and as_text(object_in(text).get("id")) in self._ids)
