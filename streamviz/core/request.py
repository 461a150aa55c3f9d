"""A client's request, as policies see it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text

# Where each format has what was said before: the turns, and the words that stand over them.
_TURNS = {"openai_chat": "messages", "anthropic_messages": "messages", "openai_responses": "input"}
_STANDING = {"anthropic_messages": "system", "openai_responses": "instructions"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message or item of a request: who it is from (`system`, `user`, `assistant`, `tool`) and its texts."""

    role: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request: its fields as they read. They are never changed in place."""

    wire_format: str = ""
    fields: JsonObject = field(default_factory=dict)

    @property
    def model(self) -> str:
        return as_text(self.fields.get("model"))

    @property
    def turns(self) -> list[Turn]:
        """All that the model is to read, in order."""
        standing = self.fields.get(_STANDING.get(self.wire_format, ""))
        turns = [Turn("system", tuple(texts_in(standing)))] if standing else []
        said = self.fields.get(_TURNS.get(self.wire_format, "messages"))
        if isinstance(said, str):
            return [*turns, Turn("user", (said,))]
        return turns + [turn for item in as_list(said) for turn in _turns_of(as_object(item))]

    @property
    def length(self) -> int:
        """Characters of all that the model is to read."""
        return sum(len(text) for turn in self.turns for text in turn.texts)

    @property
    def tool_schemas(self) -> dict[str, object]:
        """The schema of each tool's arguments that the request declares, by the tool's name."""
        found: dict[str, object] = {}
        for tool in map(as_object, as_list(self.fields.get("tools"))):
            function = as_object(tool.get("function")) or tool
            schema = function.get("parameters", function.get("input_schema"))
            if isinstance(schema, dict | bool):
                found[as_text(function.get("name"))] = schema
        for function in map(as_object, as_list(self.fields.get("functions"))):
            found[as_text(function.get("name"))] = function.get("parameters", True)
        return found

    @property
    def tool_names(self) -> list[str]:
        """The tools that the request offers; one with no name of its own by its type."""
        tools = [as_object(tool) for tool in as_list(self.fields.get("tools"))]
        functions = [as_object(tool.get("function")) or tool for tool in tools]
        functions += [as_object(function) for function in as_list(self.fields.get("functions"))]
        return [as_text(function.get("name")) or as_text(function.get("type")) for function in functions]


def _turns_of(item: JsonObject) -> Iterator[Turn]:
    """One item; a user's message of Anthropic's format can hold results of tools beside the user's own words."""
    role = as_text(item.get("role")) or ("tool" if "output" in item else "assistant")
    role = {"developer": "system", "function": "tool"}.get(role, role)
    content = item.get("content")
    own: list[object] = [{key: value for key, value in item.items() if key not in ("role", "content", "type", "id")}]
    for part in as_list(content) or [content]:
        if as_object(part).get("type") == "tool_result":
            yield Turn("tool", tuple(texts_in(as_object(part).get("content"))))
        else:
            own.append(part)
    if texts := tuple(text for value in own for text in texts_in(value)):
        yield Turn(role, texts)


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value but its keys and the names of its types, in order."""
    level: list[object] = [value]
    while level:
        item = level.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            level += [item[key] for key in reversed(item) if key not in ("type", "id", "tool_call_id", "tool_use_id")]
        elif isinstance(item, list):
            level += reversed(item)
