"""tool_schema: the arguments of a tool call must satisfy the schema that the request gave for the tool."""

from itertools import chain

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.call_runners import Runner
from streamviz.core.calls import called_by_name, calls_by_name
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object, as_text, encode, levels
from streamviz.core.model_names import fits_called
from streamviz.core.policy import Policy
from streamviz.core.policy_settings import is_nameless
from streamviz.core.verdicts import ALLOW, Decision, Verdict
from streamviz.policies.argument_json import read, read_within
from streamviz.policies.json_schema import checked_by_any
from streamviz.policies.parameters import check, shortened
from streamviz.policies.spellings import spelt

_LONGEST_NAME = 80
# Where clients wait only short arguments are checked, against short schemas with none of these words: references can
# multiply, and compiling a pattern alone can take tens of ms.
_SHORT = 1_000
_SHORT_SCHEMA = 4_000
_SHORT_REQUEST = 100_000
_LONG_WORDS = (b"pattern", b"Ref", b"$ref", b"unevaluated", b"Of", b"contains")


class ToolSchema(Policy):
    """Denies a tool call whose arguments are not what the request's own schema for that tool allows.

    A schema is read in the dialect that its `$schema` names, otherwise in that of 2020-12. Tools without a schema are
    not checked: custom ones, and those that the provider knows (a shell, an editor, a computer). A call of a tool that
    the request does not declare is denied too, unless `undeclared` says `allow` or the provider runs the tool itself,
    as it does searches and calls of MCP servers. `text` is what the client gets instead of the call; if it is empty, a
    line that names the policy. What cannot be checked in a reasonable time is a failure of the policy, and so are a
    pattern that RE2 cannot read and arguments that clients do not all read as the same JSON object.
    """

    kind = "tool_schema"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "undeclared": {
                "enum": ["deny", "allow"],
                "default": "deny",
                "description": "What to do with calls of tools that the request does not declare.",
            },
            "text": {"type": "string", "description": "Text the client gets instead of a denied call."},
        },
    }

    reads = frozenset({"tools"})

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._allows_undeclared = parameters.get("undeclared") == "allow"
        self._text = as_text(parameters.get("text"))

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if not isinstance(block, ToolCallStreamBlock):
            return None
        self.require_short(context.request.size <= _SHORT_REQUEST)
        verdict = self._on_call(block, context)
        is_denied = verdict is not None and verdict.decision is not Decision.ALLOW
        return verdict if is_denied or not calls_by_name(block.name) else self._on_call_within(block, context)

    def _on_call(self, block: ToolCallStreamBlock, context: StreamingContext) -> Verdict | None:
        name = shortened(block.name, _LONGEST_NAME)
        schemas = None if block.is_free_text else self._schemas_of(block, context.request.tool_schemas)
        if schemas is None:
            return self._without_schema(block, context)
        self.require_short(len(block.arguments) <= _SHORT and _is_simple(schemas))
        return self._judge(name, read(block), schemas)

    def _on_call_within(self, block: ToolCallStreamBlock, context: StreamingContext) -> Verdict:
        """Judge what a tool gets that is called by its name, if the request declares it: others are the client's."""
        name, declared = called_by_name(block.arguments), context.request.tool_schemas
        schemas = [*chain.from_iterable(own for other, own in declared.items() if fits_called(name, other))]
        if not schemas:
            return ALLOW
        self.require_short(len(block.arguments) <= _SHORT and _is_simple(schemas))
        *_, given = read_within(block, read(block))
        return self._judge(shortened(name, _LONGEST_NAME), given, schemas)

    def _schemas_of(self, block: StreamBlock, declared: dict[str, list[object]]) -> list[object] | None:
        """The schemas of a tool. Where a call of one that is not declared may be allowed, some clients run another."""
        name, is_any = block.name, is_nameless(block)
        if name in declared or not self._allows_undeclared:
            return declared.get(name)
        fitting = (own for other, own in declared.items() if is_any or fits_called(name, other))
        return [*chain.from_iterable(fitting)] or None

    def _without_schema(self, block: ToolCallStreamBlock, context: StreamingContext) -> Verdict | None:
        """Judge a call of a tool without a schema, such as a custom one or one that the provider defines."""
        if self._allows_undeclared or block.runner is Runner.PROVIDER:
            return None
        if context.request.offers(block.name, block.label):
            return ALLOW
        return self._deny(f"The request declares no tool called {shortened(block.name, _LONGEST_NAME)}.", {})

    def _judge(self, name: str, arguments: JsonObject, schemas: list[object]) -> Verdict:
        """Judge arguments both as they are spelt, and as clients take them that overlook spellings."""
        respelt = spelt(arguments, _names_in(schemas))
        error = checked_by_any(arguments, schemas)
        if error is None and respelt != arguments:
            error = checked_by_any(respelt, schemas)
        if error is None:
            return ALLOW
        place = shortened(error.json_path, _LONGEST_NAME)
        rule = shortened(str(error.validator), _LONGEST_NAME)
        # The error's own message quotes the arguments, which may hold a secret.
        reason = f"The arguments of {name} break {rule!r} of its schema at {place}."
        return self._deny(reason, {"path": place, "rule": rule})

    def _deny(self, reason: str, evidence: JsonObject) -> Verdict:
        return Verdict(Decision.DENY, reason, self._text, evidence)


def _names_in(schemas: list[object]) -> set[str]:
    """The names of all properties in these schemas."""
    return {name for level in levels(schemas) for each in level.objects for name in as_object(each.get("properties"))}


def _is_simple(schemas: list[object]) -> bool:
    """Whether the schemas are short, with nothing that multiplies, so that checking short arguments takes a few ms."""
    told = encode(schemas)
    return len(told) <= _SHORT_SCHEMA and not any(word in told for word in _LONG_WORDS)
