"""The whole chat answer of a run: what its chunks add up to, and what a provider added to the text."""

from streamviz.core.json_value import JsonObject, as_index, as_object, objects

# Members that the aggregation of a stream sets itself, and those that concern only one chunk.
_OF_A_CHUNK = frozenset({"id", "created", "model", "object", "usage", "choices", "obfuscation"})
_OF_A_CHOICE = frozenset({"index", "delta", "finish_reason"})
_OF_A_DELTA = frozenset({"tool_calls"})


class Beside:
    """Collects from a stream's chunks what their aggregation leaves out, and adds it to the answer."""

    def __init__(self) -> None:
        self._of_answer: JsonObject = {}
        self._of_choices: dict[int, tuple[JsonObject, JsonObject]] = {}

    def take(self, payload: JsonObject) -> None:
        """Take in a chunk's payload. What is about the whole answer, such as citations, comes complete each time. Of a
        delta only lists are kept, such as annotations: nobody knows how to add up anything else."""
        about = {name: value for name, value in payload.items() if name not in _OF_A_CHUNK and value is not None}
        self._of_answer.update(about)
        for choice in objects(payload.get("choices")):
            of_choice, of_message = self._of_choices.setdefault(as_index(choice.get("index")) or 0, ({}, {}))
            _add(of_choice, {name: value for name, value in choice.items() if name not in _OF_A_CHOICE})
            delta = as_object(choice.get("delta"))
            _add(of_message, {name: v for name, v in delta.items() if isinstance(v, list) and name not in _OF_A_DELTA})

    def added_to(self, answer: JsonObject) -> JsonObject:
        """The answer with what was collected."""
        choices = [self._choice(choice) for choice in objects(answer.get("choices"))]
        return {**self._of_answer, **answer, "choices": choices}

    def _choice(self, choice: JsonObject) -> JsonObject:
        of_choice, of_message = self._of_choices.get(as_index(choice.get("index")) or 0, ({}, {}))
        return {**of_choice, **choice, "message": {**of_message, **as_object(choice.get("message"))}}


def _add(to: JsonObject, more: JsonObject) -> None:
    """Extend lists, merge objects, and replace anything else."""
    for name, value in more.items():
        known = to.get(name)
        if isinstance(known, list) and isinstance(value, list):
            known.extend(value)
        elif isinstance(known, dict) and isinstance(value, dict):
            _add(known, value)
        elif value is not None:
            to[name] = value
