"""tool_schema: the arguments of a tool call must be what the request said that the tool takes."""

from collections.abc import Iterator

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_text, decode
from streamviz.core.policy import ALLOW, Decision, Policy, Verdict
from streamviz.policies.parameters import check, compile_pattern, encodable, shortened

_LONGEST_NAME = 80


class ToolSchema(Policy):
    """Denies a tool call whose arguments are not JSON, or not what the request's own schema of that tool allows.

    A call of a tool that the request does not declare is denied too, unless `undeclared` says `allow`. `text` is what
    the client gets instead of the call; where it is empty, a line that names the policy.
    """

    kind = "tool_schema"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "undeclared": {
                "enum": ["deny", "allow"],
                "default": "deny",
                "description": "What becomes of a call of a tool that the request does not declare.",
            },
            "text": {"type": "string", "description": "What the client gets in place of a denied call."},
        },
    }

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._allows_undeclared = parameters.get("undeclared") == "allow"
        self._text = as_text(parameters.get("text"))

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if not isinstance(block, ToolCallStreamBlock):
            return None
        name = shortened(block.name, _LONGEST_NAME)
        schemas = context.request.tool_schemas
        if block.name not in schemas:
            if self._allows_undeclared:
                return None
            return self._deny(f"The request declares no tool called {name}.", {})
        try:
            arguments = decode(block.arguments or "{}")
        except ValueError:
            return self._deny(f"The arguments of {name} are not JSON.", {})
        return self._judge(name, arguments, schemas[block.name])

    def _judge(self, name: str, arguments: object, schema: object) -> Verdict:
        # With a registry of its own nothing is fetched, whatever the schema refers to.
        validator: Validator = _Validator(schema, registry=Registry())
        error = best_match(validator.iter_errors(arguments))  # type: ignore[arg-type]
        if error is None:
            return ALLOW
        place = shortened(error.json_path, _LONGEST_NAME)
        rule = shortened(str(error.validator), _LONGEST_NAME)
        # The error's own message quotes the arguments, which may hold a secret.
        reason = f"The arguments of {name} break {rule!r} of its schema at {place}."
        return self._deny(reason, {"path": place, "rule": rule})

    def _deny(self, reason: str, evidence: JsonObject) -> Verdict:
        return Verdict(Decision.DENY, reason, self._text, evidence)


def _pattern(validator: Validator, pattern: str, instance: object, schema: object) -> Iterator[ValidationError]:
    """Python's own expressions can take for ever on what a model writes, so RE2 reads them; what it cannot, counts as
    broken."""
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError("does not match")


def _matches(pattern: str, text: str) -> bool:
    try:
        return compile_pattern(pattern, "pattern").search(encodable(text)) is not None
    except PolicyParametersError:
        return False


def _pattern_properties(
    validator: Validator, patterns: dict[str, object], instance: object, schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)  # type: ignore[attr-defined]


_Validator = extend(Draft202012Validator, {"pattern": _pattern, "patternProperties": _pattern_properties})
