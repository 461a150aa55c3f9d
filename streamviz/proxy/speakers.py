"""Who sends a request, as its body says: the tools that the agent offers, and the person that it speaks for."""

from itertools import chain

from streamviz.core.json_value import JsonObject, as_object, objects
from streamviz.core.wire.gemini_schemas import functions_of
from streamviz.proxy.transcripts import brief

# The most tools that are looked at; hardly any client offers more.
_MOST_TOOLS = 1_000
_NO_TOOLS: frozenset[str] = frozenset()


def tools_in(fields: JsonObject) -> frozenset[str]:
    """The names of the tools that a request offers, or the types of those without a name."""
    if not fields.get("tools"):
        return _NO_TOOLS
    told = objects(fields["tools"])
    # Gemini puts all functions into one tool.
    offered = [*told, *chain.from_iterable(map(functions_of, told))]
    own = [as_object(each.get("function")) or each for each in offered]
    names = [each.get("name") or each.get("type") for each in own]
    return frozenset([brief(name) for name in names[:_MOST_TOOLS] if isinstance(name, str)])


def person_in(fields: JsonObject) -> str:
    """The user that a program names; empty if it names nobody."""
    for told in (fields.get("user"), fields.get("safety_identifier"), as_object(fields.get("metadata")).get("user_id")):
        if isinstance(told, str) and told:
            return told
    return ""
