"""A client's request, as policies see it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from streamviz.core.calls import LEGACY_CALL, RESULT_ENDINGS, name_of
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, levels
from streamviz.core.request_parts import BETWEEN_AGENTS, readable
from streamviz.core.request_tools import OWN_KINDS, every_tool, told_by
from streamviz.core.wire import OPENAI_CHAT, WIRE_FORMATS


class Turn(NamedTuple):
    """One message or item of a request: who it is from (`system`, `user`, `assistant`, `tool`) and its texts.

    `parts` are those of them that follow each other, so that a model reads them as one text.
    """

    role: str
    texts: tuple[str, ...]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelCall:
    """A request: its fields as they were decoded, which are never changed in place. `size` is how many bytes it came as
    (0 if that is not known).

    `names` are all names of the model that is called, its provider's name for it first; empty while only the name in
    the request is known.
    """

    wire_format: str = ""
    fields: JsonObject = field(default_factory=dict)
    size: int = 0
    names: tuple[str, ...] = ()

    def called(self, names: tuple[str, ...]) -> "ModelCall":
        """The same, once all names of its model are known."""
        return ModelCall(self.wire_format, self.fields, self.size, names)

    @property
    def model(self) -> str:
        """The model as the request names it."""
        return as_text(self.fields.get("model"))

    @property
    def models(self) -> tuple[str, ...]:
        """All names of the model that is called."""
        return self.names or (self.model,)

    @property
    def turns(self) -> list[Turn]:
        """All that the model is to read, in order."""
        system, said = self._read()
        turns = [_turn("system", [system])] if system else []
        if filled_in := self._filled_in():
            turns.append(Turn("user", tuple(texts_in(filled_in))))
        items = [said] if isinstance(said, str) else as_list(said)
        return turns + [turn for item in items for turn in _turns_of(item)]

    @property
    def turn_count(self) -> int:
        """How many messages, or items, it has; one may be several turns, or none."""
        return len(as_list(self._read()[1]))

    @cached_property
    def length(self) -> int:
        """The most characters that the model may have to read: ids and types are included, wherever they are. A long
        request is gone through only once."""
        return sum(map(len, some_texts((*self._read(), self._filled_in()), frozenset()))) - sum(map(len, self._roles()))

    @property
    def texts(self) -> Iterator[str]:
        """All texts that the model is to read, in no order: for a long request this is faster than `turns`."""
        return some_texts((*self._read(), self._filled_in()), _NO_TEXTS | {"role"})

    @property
    def tool_schemas(self) -> dict[str, list[object]]:
        """The schemas that the request declares for each tool's arguments, by the tool's name. Namespaces may have
        tools of the same name: then any of their schemas will do."""
        found: dict[str, list[object]] = {}
        for tool in self._tools:
            schema = tool.get("parameters", tool.get("input_schema"))
            if isinstance(schema, dict | bool):
                found.setdefault(as_text(tool.get("name")), []).append(schema)
        return found

    @property
    def tool_names(self) -> list[str]:
        """The tools that the request offers, by all their names; the provider's own tools also by their types."""
        return list(dict.fromkeys(name for tool in self._tools for name in _names_of(tool)))

    def offers(self, name: str, label: str = "") -> bool:
        """Whether the request offers a tool with this name on the wire or, if the wire has its own word for such calls,
        with that type (`shell` for a `shell_call`). The client's own tools have only their names. If tools can be
        searched for, it offers any."""
        kinds = [kind for tool in self._tools if (kind := as_text(tool.get("type"))) not in OWN_KINDS]
        if any(kind.startswith("tool_search") for kind in kinds):
            return True
        stem = "" if label == LEGACY_CALL else "mcp" if label.startswith("mcp_") else name_of(label)
        return name in self.tool_names or bool(stem and any(kind.startswith(stem) for kind in kinds))

    def _read(self) -> tuple[object, object]:
        """What the model is to read: the system prompt, and the turns."""
        known = WIRE_FORMATS.get(self.wire_format, OPENAI_CHAT)
        return self.fields.get(known.system), self.fields.get(known.turns)

    def _filled_in(self) -> list[object]:
        """What the model reads beside the turns: the values that are filled into a template of the provider's, without
        their names, documents to answer from, and what the answer is expected to be like."""
        values = as_object(self.fields.get("prompt")).get("variables")
        told = list(values.values()) if isinstance(values, dict) else [values]
        return [each for each in (*told, *map(self.fields.get, _BESIDE)) if each]

    def _roles(self) -> Iterator[str]:
        said = self._read()[1]
        roles = [item["role"] for item in as_list(said) if isinstance(item, dict) and "role" in item]
        return (role for role in roles if isinstance(role, str))

    @cached_property
    def _tools(self) -> list[JsonObject]:
        """The declarations of the tools, found once for all calls of an answer."""
        return [told for tool in every_tool(self.fields) for told in told_by(tool)]


def _names_of(tool: JsonObject) -> list[str]:
    name, kind = as_text(tool.get("name")), as_text(tool.get("type"))
    return [name] if name and kind in OWN_KINDS else [each for each in (name, kind) if each]


def _turns_of(said: object) -> Iterator[Turn]:
    """The turns of one item: a user's message in Anthropic's format can have results of tools beside the user's own
    words. A plain string is the user's."""
    if isinstance(said, str):
        yield Turn("user", (said,), (said,))
        return
    item = as_object(said)
    if item.keys() == PLAIN and isinstance(item["content"], str):
        yield Turn(_role(as_text(item["role"])), (item["content"],), (item["content"],))
        return
    role = _role_of(item)
    content = item.get("content", item.get("parts"))
    read = ("role", "content" if "content" in item else "parts", "type", "id")
    own: list[object] = [{key: value for key, value in item.items() if key not in read}]
    for part in as_list(content) or [content]:
        if not isinstance(part, dict):
            own.append(part)
        elif _is_result(part):
            yield _turn("tool", [part])
        else:
            own.append(part)
    turn = _turn(_role(role), own)
    if turn.texts:
        yield turn


def _turn(role: str, said: list[object]) -> Turn:
    return Turn(role, tuple(texts_in(said)), tuple(_parts_in(said)))


def _parts_in(said: list[object]) -> Iterator[str]:
    """The texts of parts, without what is said beside them, such as for the prompt cache."""
    for part in said:
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            yield from _parts_in(part)
        elif isinstance(part, dict):
            yield from _parts_in([*map(part.get, _IN_PARTS), readable(part) or None])


def _role_of(item: JsonObject) -> str:
    """Whose words an item is: Google takes a content without a role for the user's, and a tool's output is a tool's
    whatever its role says."""
    type = as_text(item.get("type"))
    if type.endswith(RESULT_ENDINGS):
        return "tool"
    if role := as_text(item.get("role")):
        return role
    is_said = type in ("", "message", BETWEEN_AGENTS) and ("content" in item or "parts" in item)
    return "tool" if "output" in item else "user" if is_said else "assistant"


def _is_result(part: JsonObject) -> bool:
    """Whether a part is a tool's result, in Anthropic's format or in Gemini's."""
    return as_text(part.get("type")).endswith("tool_result") or not _ANSWERED.isdisjoint(part)


def _role(role: str) -> str:
    return {"developer": "system", "function": "tool", "model": "assistant"}.get(role, role)


_ANSWERED = frozenset(("functionResponse", "function_response"))
# Where a message, a tool's result, or a part of them has its text.
_IN_PARTS = ("text", "value", "content", "parts", "output")
# Fields of a request whose texts the model reads, too.
_BESIDE = ("documents", "prediction")
# The members of most messages.
PLAIN = frozenset(("role", "content"))
# Members in which a format says what something is. In the input and output of tools they are like any others.
_NO_TEXTS = frozenset(("type", "id", "tool_call_id", "tool_use_id"))
_FOR_TOOLS = frozenset(("input", "args", "arguments", "response", "output", "action", "operation"))


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value except ids and names of types, in order; of the input and output of tools everything,
    including the names of members."""
    waiting: list[tuple[object, bool]] = [(value, False)]
    while waiting:
        item, is_for_tools = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            waiting += [(each, is_for_tools) for each in reversed(item)]
        elif isinstance(item, dict) and is_for_tools:
            waiting += [(each, True) for member in reversed(item.items()) for each in reversed(member)]
        elif isinstance(item, dict):
            waiting += [
                (member, name in _FOR_TOOLS and not _has_parts(name, member))
                for name, member in reversed(item.items())
                if name not in _NO_TEXTS or not isinstance(member, str)
            ]


def _has_parts(name: str, member: object) -> bool:
    """Whether a tool's output is made of the format's parts, as a message is."""
    kinds = [as_text(as_object(each).get("type")) for each in as_list(member)]
    return name == "output" and bool(kinds) and all(kind.startswith("input_") for kind in kinds)


def some_texts(values: Iterable[object], unread: frozenset[str]) -> Iterator[str]:
    """About the same texts, for an estimate: without those of members in `unread`, in no order, in a fraction of the
    time."""
    return chain.from_iterable(level.texts for level in levels(list(values), unread))
