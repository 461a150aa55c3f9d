"""request_rule: what a request may not contain, and parameters to set or drop."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from streamviz.core.context import StreamingContext
from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.model_names import fits, fits_in_any_case, matching
from streamviz.core.policy import Policy
from streamviz.core.request import ModelCall, Turn
from streamviz.core.verdicts import ALLOW, Decision, Verdict
from streamviz.policies.argument_json import unescaped
from streamviz.policies.parameters import (
    MOST_CHARACTERS,
    MOST_STEPS,
    Match,
    Pattern,
    check,
    compile_pattern,
    encodable,
    shortened,
    texts,
)

_GLOBS: JsonObject = {"type": "array", "items": {"type": "string", "minLength": 1}}
_ROLES = ["system", "user", "assistant", "tool"]
# Without these a request is invalid, or not the kind of request that the proxy took it for.
_KEPT = frozenset({"messages", "input", "stream"})


class Why(NamedTuple):
    """Why a request is denied: in words, and what was found where."""

    reason: str
    evidence: JsonObject


class RequestRule(Policy):
    """Denies requests before they go upstream, and sets or drops their parameters.

    A request is denied if its model, by any of its names, matches one of `models` (globs, ignoring case), if the name
    of one of its tools matches one of `tools` (globs), if it has one of `parameters` (globs), or if one of `patterns`
    (RE2) is in its system prompt or in one of its messages, not in what it says of tools; with `roles`, only in
    messages of these roles or of an unknown role. From a request that is not denied, `drop` removes parameters, and
    `set` gives them a value, including `model`. The client gets `text` as the error's message; if it is empty, a line
    that names the policy.
    """

    kind = "request_rule"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "models": {**_GLOBS, "description": "Models to deny; * and ? are wildcards."},
            "tools": {**_GLOBS, "description": "Tools to deny; * and ? are wildcards."},
            "parameters": {**_GLOBS, "description": "Parameters to deny; * and ? are wildcards."},
            "patterns": {
                "type": "array",
                "description": "Patterns to deny in messages.",
                "examples": [[{"pattern": "internal only", "roles": ["user"]}]],
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["pattern"],
                    "properties": {
                        "pattern": {"type": "string", "minLength": 1},
                        "roles": {"type": "array", "items": {"enum": _ROLES}},
                    },
                },
            },
            "set": {
                "type": "object",
                "propertyNames": {"not": {"enum": sorted(_KEPT)}},
                "description": "Parameters to set, with their values.",
                "examples": [{"temperature": 0}],
            },
            "drop": {
                "type": "array",
                "items": {"type": "string", "not": {"enum": [*sorted(_KEPT), "model"]}},
                "description": "Parameters to remove.",
            },
            "text": {"type": "string", "description": "Error message for a denied request."},
        },
    }

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._models = texts(parameters.get("models"))
        self._tools = texts(parameters.get("tools"))
        self._parameters = texts(parameters.get("parameters"))
        self._patterns = [
            (compile_pattern(as_text(each["pattern"]), f"patterns.{n}.pattern"), each)
            for n, each in enumerate(objects(parameters.get("patterns")))
        ]
        self._instructions = sum(pattern.programsize for pattern, _ in self._patterns)
        self._set = as_object(parameters.get("set"))
        if not as_text(self._set.get("model", "any")):
            raise PolicyParametersError("set: the model is a name", "set")
        self._drop = frozenset(texts(parameters.get("drop")))
        self._text = as_text(parameters.get("text"))

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        is_short = request.size <= MOST_CHARACTERS and request.size * self._instructions <= MOST_STEPS
        self.require_short(is_short or not (self._patterns or self._tools))
        if why := self._why_not(request):
            return Verdict(Decision.DENY, why.reason, self._text, why.evidence)
        fields = {name: value for name, value in request.fields.items() if name not in self._drop}
        fields.update(self._set)
        changed = sorted(
            name for name in {*self._set, *self._drop} if fields.get(name, ...) != request.fields.get(name, ...)
        )
        if not changed:
            return ALLOW
        names = ", ".join(changed)
        return Verdict(Decision.REPLACE, f"Changed: {names}.", evidence={"parameters": changed}, request=fields)

    def _why_not(self, request: ModelCall) -> Why | None:
        if glob := matching(request.models, self._models):
            return Why(f"The model matches {glob}.", {"model": glob})
        for tool in request.tool_names if self._tools else ():
            if glob := _matching(tool, self._tools):
                return Why(f"The tool {shortened(tool, 80)} matches {glob}.", {"tool": glob})
        for name in self._parameters:
            if found := next((each for each in request.fields if fits(each, name)), ""):
                return Why(f"It has the parameter {shortened(found, 80)}.", {"parameter": name})
        return self._in_messages(request.turns) if self._patterns else None

    def _in_messages(self, turns: list[Turn]) -> Why | None:
        numbered = [*enumerate(turns, 1), *_joined(turns)]
        for pattern, each in self._patterns:
            roles, words = texts(each.get("roles")), as_text(each["pattern"])
            for number, turn in numbered:
                if (not roles or turn.role in roles or turn.role not in _ROLES) and (match := _found(pattern, turn)):
                    evidence = {"message": number, "pattern": words, "start": match.start(), "end": match.end()}
                    return Why(f"Message {number} ({shortened(turn.role, 20)}) matches {words}.", evidence)
        return None


def _matching(value: str, globs: list[str]) -> str:
    return next((glob for glob in globs if fits_in_any_case(value, glob)), "")


def _joined(turns: list[Turn]) -> Iterator[tuple[int, Turn]]:
    """Texts that a model may read as one, with the number of the first message: joined directly and with a blank, as
    providers differ in that. Some take system prompts out of the conversation, and leave out messages without text. No
    provider joins the results of several tools."""
    said = [(number, turn) for number, turn in enumerate(turns, 1) if any(turn.texts)]
    apart = sorted(said, key=lambda each: each[1].role != "system")
    for (role, _), group in groupby(apart, lambda each: (each[1].role, each[1].role == "tool" and each[0])):
        numbered = list(group)
        parts = [part for _, turn in numbered for part in turn.parts]
        if len(parts) > 1:
            yield numbered[0][0], Turn(role, ("".join(parts), " ".join(parts)))


def _found(pattern: Pattern, turn: Turn) -> Match | None:
    """A match in any text of a turn, as written or with its escapes decoded."""
    readings = (reading for text in turn.texts for reading in ((text, unescaped(text)) if "\\" in text else (text,)))
    return next((match for text in readings if (match := pattern.search(encodable(text)))), None)
