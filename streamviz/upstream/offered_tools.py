"""The tools that a client offers, of which a provider of another format can take the client's own functions."""

from streamviz.core.errors import wrong_type
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.upstream.model_parameters import has
from streamviz.upstream.request_fields import list_out, refusal
from streamviz.upstream.targets import Target

# What a client may offer beside its own functions. A model that has none of it answers all the same.
_OFFERED_BESIDE = (
    *("apply_patch", "code_interpreter", "computer", "image_generation", "local_shell", "namespace", "shell"),
    *("tool_search", "web_search"),
)
NAMESPACE, ALLOWED = "namespace", "allowed_tools"
_OWN = frozenset({"custom", "function"})
_LONGEST_NAME = 100
# Characters of a namespace's words that its tools repeat, all together: a request is not to grow by it without end.
_MOST_REPEATED = 20_000
# Of a tool of Anthropic's format. What else it has, LiteLLM would take for a part of the schema.
_MEMBERS = frozenset({"cache_control", "description", "input_schema", "name", "strict", "type"})
# These say nothing where there are no tools.
_OF_TOOLS = ("tool_choice", "parallel_tool_calls")


def fit_responses_tools(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Raises RequestError where the answer has to use what would be left out."""
    offered = [each for tool in objects(list_out(fields, "tools")) for each in _members(tool)]
    if told := without_namespace(as_object(fields.get("tool_choice"))):
        fields["tool_choice"] = told
    if told.get("type") == ALLOWED:
        offered = _allowed(offered, fields, told)
    own = [tool for tool in offered if _is_own(tool)]
    beside = [tool for tool in offered if _is_beside(as_text(tool.get("type")))]
    if len(own) + len(beside) < len(offered):
        raise refusal(target, f"tools.{_unknown(offered)}")
    choice = fields.get("tool_choice")
    if beside and (choice == "required" or _is_beside(as_text(as_object(choice).get("type")))):
        raise refusal(target, "tool_choice")
    _keep(fields, own, beside, left_out)


def fit_chat_tools(fields: JsonObject) -> None:
    """Says in chat's older words which of the tools may be called."""
    told = as_object(as_object(fields.get("tool_choice")).get(ALLOWED))
    if told:
        fields["tools"] = _allowed(objects(fields.get("tools")), fields, told)


def _allowed(offered: list[JsonObject], fields: JsonObject, told: JsonObject) -> list[JsonObject]:
    """The tools that may be called, where a choice allows some of those that are offered: a provider is told of no
    others. Raises RequestError (400) where that is none."""
    named = {_key(without_namespace(tool)) for tool in objects(told.get("tools"))}
    allowed = [tool for tool in offered if named & {_key(tool), (NAMESPACE, as_text(tool.get(NAMESPACE)))}]
    if not allowed:
        raise wrong_type("tool_choice", "about tools that are among `tools`")
    fields["tool_choice"] = "required" if told.get("mode") == "required" else "auto"
    return allowed


def namespaces_of(tools: object) -> dict[str, tuple[str, str]]:
    """The namespace and the name there of each tool that has one, by the name that a provider is told."""
    found = {}
    for tool in objects(tools):
        if (namespace := as_text(tool.get(NAMESPACE))) and (name := as_text(tool.get("name"))):
            found[name] = namespace, name.removeprefix(in_namespace(namespace, ""))
    return found


def in_namespace(namespace: str, name: str) -> str:
    """What a tool is called where there are no namespaces."""
    return f"{namespace}__{name}"


def without_namespace(named: JsonObject) -> JsonObject:
    """A call or a choice of a tool, by the name that the model knows the tool by."""
    if not (namespace := as_text(named.get(NAMESPACE))):
        return named
    told = {name: value for name, value in named.items() if name != NAMESPACE}
    return {**told, "name": in_namespace(namespace, as_text(named.get("name")))}


def _members(tool: JsonObject) -> list[JsonObject]:
    """A tool, or the client's own tools in a namespace of them, each with the namespace's words before its own; where
    these are too long to be repeated, the first alone has them. No provider takes names longer than ours may be."""
    namespace = as_text(tool.get("name"))
    is_namespace = tool.get("type") == NAMESPACE and 0 < len(namespace) <= _LONGEST_NAME
    members = objects(tool.get("tools")) if is_namespace else []
    if not any(map(_is_own, members)):
        return [tool]
    words = as_text(tool.get("description"))
    repeats = len(words) * len(members) <= _MOST_REPEATED
    return [
        _named_within(namespace, words if repeats or place == 0 else "", each) if _is_own(each) else each
        for place, each in enumerate(members)
    ]


def _is_own(tool: JsonObject) -> bool:
    return as_text(tool.get("type")) in _OWN


def _named_within(namespace: str, words: str, member: JsonObject) -> JsonObject:
    told = "\n\n".join(filter(None, (words, as_text(member.get("description")))))
    name = in_namespace(namespace, as_text(member.get("name")))
    return {**member, "name": name, NAMESPACE: namespace, **({"description": told} if told else {})}


def _key(tool: JsonObject) -> tuple[str, str]:
    own = as_object(tool.get("function")) or as_object(tool.get("custom")) or tool
    return as_text(tool.get("type")), as_text(own.get("name"))


def fit_messages_tools(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """As of responses: Anthropic's own tools have no schema that another vendor's model could be told."""
    offered = objects(list_out(fields, "tools"))
    own = [tool for tool in offered if _is_clients(tool)]
    beside = [tool for tool in offered if not _is_clients(tool)]
    choice = as_object(fields.get("tool_choice"))
    kind, name = choice.get("type"), choice.get("name")
    if beside and (kind == "any" or (kind == "tool" and any(tool.get("name") == name for tool in beside))):
        raise refusal(target, "tool_choice")
    _keep(fields, [_described(tool, left_out) for tool in own], beside, left_out)
    if own and choice.get("disable_parallel_tool_use") is True:
        _one_call_at_a_time(target, fields, left_out, is_forced=kind == "tool")


def _one_call_at_a_time(target: Target, fields: JsonObject, left_out: list[str], *, is_forced: bool) -> None:
    """Where one tool is forced by its name there is hardly a second call, and SDKs say this for answers in JSON."""
    if has(target, "parallel_tool_calls"):
        fields["parallel_tool_calls"] = False
    elif is_forced:
        left_out.append("tool_choice.disable_parallel_tool_use")
    else:
        raise refusal(target, "tool_choice.disable_parallel_tool_use")


def _keep(fields: JsonObject, own: list[JsonObject], beside: list[JsonObject], left_out: list[str]) -> None:
    left_out += [f"tool {_name_of(tool)}" for tool in beside]
    if own:
        fields["tools"] = own
    elif beside:
        for name in _OF_TOOLS:
            fields.pop(name, None)


def _is_beside(kind: str) -> bool:
    """Some have a date behind their name, or what it is a preview of."""
    return kind.startswith(_OFFERED_BESIDE)


def _unknown(offered: list[JsonObject]) -> str:
    kinds = (as_text(tool.get("type")) for tool in offered)
    return next(kind for kind in kinds if kind not in _OWN and not _is_beside(kind))[:_LONGEST_NAME]


def _is_clients(tool: JsonObject) -> bool:
    return tool.get("type") == "function" or (tool.get("type") in (None, "custom") and "input_schema" in tool)


def _described(tool: JsonObject, left_out: list[str]) -> JsonObject:
    if tool.get("type") == "function":
        return tool
    left_out += [f"tools.{name[:_LONGEST_NAME]}" for name in tool if name not in _MEMBERS]
    return {name: value for name, value in tool.items() if name in _MEMBERS}


def _name_of(tool: JsonObject) -> str:
    return (as_text(tool.get("name")) or as_text(tool.get("type")))[:_LONGEST_NAME]
