"""The whole answer of a run in chat: what its chunks add up to, and what a provider put beside the words."""

from streamviz.core.json_value import JsonObject, as_index, as_object, objects

# What the aggregation of a stream has by itself, and what is about a chunk alone.
_OF_A_CHUNK = frozenset({"id", "created", "model", "object", "usage", "choices", "obfuscation"})
_OF_A_CHOICE = frozenset({"index", "delta", "finish_reason"})
_OF_A_DELTA = frozenset({"tool_calls"})


class Beside:
    """Takes the payloads of a stream's chunks, and adds to the answer that they come to what it lacks."""

    def __init__(self) -> None:
        self._of_answer: JsonObject = {}
        self._of_choices: dict[int, tuple[JsonObject, JsonObject]] = {}

    def take(self, payload: JsonObject) -> None:
        """A chunk's. What is about the answer comes whole each time, as citations do. Of a delta the lists are kept,
        such as annotations: of all else nobody knows how to add it up."""
        about = {name: value for name, value in payload.items() if name not in _OF_A_CHUNK and value is not None}
        self._of_answer.update(about)
        for choice in objects(payload.get("choices")):
            of_choice, of_message = self._of_choices.setdefault(as_index(choice.get("index")) or 0, ({}, {}))
            _add(of_choice, {name: value for name, value in choice.items() if name not in _OF_A_CHOICE})
            delta = as_object(choice.get("delta"))
            _add(of_message, {name: v for name, v in delta.items() if isinstance(v, list) and name not in _OF_A_DELTA})

    def added_to(self, answer: JsonObject) -> JsonObject:
        """The answer, with all that."""
        choices = [self._choice(choice) for choice in objects(answer.get("choices"))]
        return {**self._of_answer, **answer, "choices": choices}

    def _choice(self, choice: JsonObject) -> JsonObject:
        of_choice, of_message = self._of_choices.get(as_index(choice.get("index")) or 0, ({}, {}))
        return {**of_choice, **choice, "message": {**of_message, **as_object(choice.get("message"))}}


def _add(to: JsonObject, more: JsonObject) -> None:
    """Lists go on, objects are joined, and of anything else the last stays."""
    for name, value in more.items():
        known = to.get(name)
        if isinstance(known, list) and isinstance(value, list):
            known.extend(value)
        elif isinstance(known, dict) and isinstance(value, dict):
            _add(known, value)
        elif value is not None:
            to[name] = value
