"""The tools that a client offers; a provider of another format can take only the client's own functions."""

from streamviz.core.calls import in_namespace
from streamviz.core.errors import wrong_type
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.upstream.model_parameters import has
from streamviz.upstream.request_fields import list_out, refusal
from streamviz.upstream.targets import Target

# What a client may offer besides its own functions. A model that lacks it can still answer.
_OFFERED_BESIDE = (
    *("apply_patch", "code_interpreter", "computer", "image_generation", "local_shell", "namespace", "shell"),
    *("tool_search", "web_search"),
)
NAMESPACE, ALLOWED = "namespace", "allowed_tools"
_OWN = frozenset({"custom", "function"})
_LONGEST_NAME = 100
# How many characters of a namespace's description its tools may repeat in total: a request must not grow without limit.
_MOST_REPEATED = 20_000
# The members of a tool in Anthropic's format. LiteLLM would take any other for part of the schema.
_MEMBERS = frozenset({"cache_control", "description", "input_schema", "name", "strict", "type"})
# These mean nothing without tools.
_OF_TOOLS = ("tool_choice", "parallel_tool_calls")


def fit_responses_tools(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Keep the tools that the provider can take. Raises RequestError if the answer has to use one that would be left
    out."""
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
    """Say in chat's older terms which of the tools may be called."""
    told = as_object(as_object(fields.get("tool_choice")).get(ALLOWED))
    if told:
        fields["tools"] = _allowed(objects(fields.get("tools")), fields, told)


def _allowed(offered: list[JsonObject], fields: JsonObject, told: JsonObject) -> list[JsonObject]:
    """The tools that may be called, if a choice allows only some of those offered: the provider is not told of the
    others. Raises RequestError (400) if none is left."""
    named = {_key(without_namespace(tool)) for tool in objects(told.get("tools"))}
    allowed = [tool for tool in offered if named & {_key(tool), (NAMESPACE, as_text(tool.get(NAMESPACE)))}]
    if not allowed:
        raise wrong_type("tool_choice", "limited to tools in `tools`")
    fields["tool_choice"] = "required" if told.get("mode") == "required" else "auto"
    return allowed


def namespaces_of(tools: object) -> dict[str, tuple[str, str]]:
    """The namespace of each tool that has one, and its name there, by the name that the provider is given."""
    found = {}
    for tool in objects(tools):
        if (namespace := as_text(tool.get(NAMESPACE))) and (name := as_text(tool.get("name"))):
            found[name] = namespace, name.removeprefix(in_namespace(namespace, ""))
    return found


def without_namespace(named: JsonObject) -> JsonObject:
    """A call or a choice of a tool, with the name by which the model knows the tool."""
    if not (namespace := as_text(named.get(NAMESPACE))):
        return named
    told = {name: value for name, value in named.items() if name != NAMESPACE}
    return {**told, "name": in_namespace(namespace, as_text(named.get("name")))}


def _members(tool: JsonObject) -> list[JsonObject]:
    """The tool itself, or for a namespace the tools in it. The client's own tools are preceded by the namespace's
    description; if that is too long to repeat, only the first has it. A name too long for us is too long for any
    provider."""
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
    """As for the responses format: Anthropic's own tools have no schema that another vendor's model could be given."""
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
    """Ask for one call at a time. If a tool is forced by its name, a second call is unlikely, and SDKs set this for
    answers in JSON."""
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
    """Whether this is one of those; some names end in a date, or in what it is a preview of."""
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
