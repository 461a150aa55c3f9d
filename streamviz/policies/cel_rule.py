"""cel_rule: an expression in CEL decides."""

import re
from collections.abc import Callable

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.context import SessionCounts, StreamingContext
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_text
from streamviz.core.policy import Policy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import ALLOW, Decision, Verdict
from streamviz.policies.argument_json import read
from streamviz.policies.argument_paths import names_in
from streamviz.policies.expressions import cel
from streamviz.policies.parameters import check, shortened, texts
from streamviz.policies.spellings import spelt

LONGEST = 4000
# Lists from a model can be long, and each nested loop multiplies the steps by their length.
MOST_LOOPS = 2
MOST_STEPS = 1_000_000
# A step may copy everything that the expression can see, and again for each `+`: this many characters in all.
MOST_COPIED = 2_000_000_000
_SHORT_COPIED = 1_000_000
_SHORT = 2_000
# This many characters of an expression count as one step.
_WORD = 4
_SHOWN = 200
# The first error in what the library says about an expression that it cannot read.
_WRONG = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?(.*?)(?: expecting .*)?$", re.MULTILINE)
_ENDS = "mismatched input '<EOF>'"
# What may stand between two tokens of an expression.
_BLANK = r"(?:\s|//[^\n]*\n)*"
_LOOP = re.compile(rf"\.{_BLANK}(?:all|exists|exists_one|existsOne|map|filter){_BLANK}\({_BLANK}(\w*)")
_NAMES = frozenset({"block", "args", "request", "stream", "session"})
_FUNCTIONS = frozenset(
    "size contains startsWith endsWith matches int uint double string bytes timestamp duration type dyn getFullYear"
    " getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds getMilliseconds".split()
)
_BUILT_IN = frozenset("int uint double bool string bytes list map null_type type dyn timestamp duration".split())


class CelRule(Policy):
    """Denies or halts whatever makes an expression in CEL (the Common Expression Language) true.

    The expression can use:
    - `block`: `kind` (content, thinking, tool_call, refusal, media, other), `name`, `namespace` (that of the tool, if
      it has one), `label` (the wire's name for a special kind of call, such as `shell_call`), `runner` (who runs a
      call, `client` or `provider`), `text` (a call's raw arguments), `size`, `ordinal`, `choice`;
    - `args`: the parsed arguments of a tool call; plain text is `args.input`;
    - `request`: `model` (its name at the provider that is called), `models` (all its names), `asked` (the name that the
      client sent), `format`, `tools` (names, and types of the provider's own), `fields` (the whole request);
    - `stream`: `blocks`, `tool_calls` and `seconds` so far;
    - `session`: `streams`, `blocks`, `tool_calls`, `output_tokens`, `cost` and `seconds` of its earlier streams, as far
      as this worker has seen them; for a limit across streams that run at once, use `limits`.

    For example, `block.name == "run_shell" && has(args.command) && args.command.contains("rm -rf")`. These count as
    failures of the policy: a missing field, so test it with `has(…)` first; if the expression uses `args`, arguments
    that clients do not all read as the same JSON object; and a loop (`all`, `exists`, `map`, `filter`) that would take
    more than a million steps or copy more than 2 GB. `on` lists what to judge: kinds of block, which are held until
    they are judged, or `request` (then `block` is empty).
    """

    kind = "cel_rule"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["expression"],
        "properties": {
            "expression": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST,
                "format": "expression",
                "description": "Deny when this is true.",
            },
            "on": {
                "type": "array",
                "minItems": 1,
                "items": {"enum": [*(str(kind) for kind in BlockKind), "request"]},
                "default": ["tool_call"],
                "description": "What to evaluate it on.",
            },
            "decision": {"enum": ["deny", "halt"], "default": "deny", "description": "What to do then."},
            "reason": {"type": "string", "description": "Reason to show."},
            "text": {"type": "string", "description": "Text the client gets instead."},
        },
    }

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        expression = as_text(parameters["expression"])
        self._program = _compile(expression)
        self._wanted = frozenset(self._program.variables())
        self._names = names_in(expression)
        self._loops = len(_LOOP.findall(expression))
        self._words = 1 + len(expression) // _WORD
        self._sums = 1 + expression.count("+")
        self._listed = 1 + expression.count(",")
        # Compiling a pattern can take long, especially one that a model wrote.
        self._has_patterns = "matches" in expression
        self.reads = None if "request" in self._wanted else frozenset()
        self._on = frozenset(texts(parameters.get("on"), ("tool_call",)))
        decision = Decision(as_text(parameters.get("decision")) or "deny")
        reason = as_text(parameters.get("reason")) or "The expression is true of it."
        evidence = {"expression": shortened(expression, _SHOWN)}
        self._verdict = Verdict(decision, reason, as_text(parameters.get("text")), evidence)

    def holds(self, block: StreamBlock) -> bool:
        return block.kind in self._on

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        return self._decide(None, request, context) if "request" in self._on else None

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if block.kind not in self._on:
            return None
        return self._decide(block, context.request, context)

    def _decide(self, block: StreamBlock | None, request: ModelCall, context: StreamingContext) -> Verdict:
        size = (block.length if block else 0) + (request.size if "request" in self._wanted else 0)
        self.require_short(size <= _SHORT and not self._has_patterns)
        makers: dict[str, Callable[[], JsonObject]] = {
            "block": lambda: _block(block) if block else {},
            "args": lambda: spelt(_arguments(block), self._names),
            "request": lambda: _request(request),
            "stream": lambda: _stream(context),
            "session": lambda: _session(context),
        }
        # A request can be long and is converted for each block, so only what the expression names is made.
        values = {name: make() for name, make in makers.items() if name in self._wanted}
        steps = max(1, _longest(values)) ** self._loops
        copied = steps * self._words * self._sums * (size + 1)
        if self._loops and (steps > MOST_STEPS or copied > MOST_COPIED):
            raise ValueError("its input is too large")
        # A loop may also be over a list in the expression itself.
        self.require_short(copied * self._listed**self._loops <= _SHORT_COPIED)
        try:
            result = self._program.execute(values)
        except Exception as error:  # The library's message may quote what is judged, which may hold a secret.
            raise ValueError(f"the expression cannot be evaluated ({_WHY.get(type(error), 'a call fails')})") from None
        if not isinstance(result, bool):
            raise TypeError(f"the expression gives {type(result).__name__}, not true or false")
        return self._verdict if result else ALLOW


_WHY: dict[type[Exception], str] = {
    KeyError: "what it names is not there",
    TypeError: "a value is of another type",
}


def _compile(expression: str) -> "cel.Program":
    try:
        program = cel.compile(expression)
    except ValueError as error:
        raise PolicyParametersError(f"expression: {_said(error)}", "expression") from None
    loops = _LOOP.findall(expression)
    unknown = set(program.variables()) - _NAMES - _BUILT_IN - set(loops)
    if unknown:
        known = ", ".join(sorted(_NAMES))
        raise PolicyParametersError(f"expression: {min(unknown)} is not known; there are {known}", "expression")
    # The library finds a function missing only when it is called. Operators have names that nobody can write.
    if missing := {name for name in program.functions() if name[0].isalpha()} - _FUNCTIONS:
        raise PolicyParametersError(f"expression: there is no function {min(missing)}", "expression")
    if len(loops) > MOST_LOOPS:
        raise PolicyParametersError(f"expression: at most {MOST_LOOPS} loops (all, exists, map, filter)", "expression")
    return program


def _said(error: ValueError) -> str:
    """The first thing that is wrong with an expression, without the drawing of it and the list of what might follow."""
    found = _WRONG.search(str(error))
    if found is None:
        return str(error)
    line, character, what = found.groups()
    return f"line {line}, character {character}: {what.replace(_ENDS, 'it ends too early')}"


def _block(block: StreamBlock) -> JsonObject:
    return {
        "kind": str(block.kind),
        "name": block.name,
        "label": block.label,
        "namespace": block.namespace,
        "runner": str(block.runner) if isinstance(block, ToolCallStreamBlock) else "",
        "text": block.text,
        "size": block.length,
        "ordinal": block.ordinal,
        "choice": block.choice,
    }


def _longest(value: object) -> int:
    """The length of the longest list or map in a value."""
    longest, level = 0, [value]
    while level:
        item = level.pop()
        if isinstance(item, dict | list):
            longest = max(longest, len(item))
            level += item.values() if isinstance(item, dict) else item
    return longest


def _arguments(block: StreamBlock | None) -> JsonObject:
    return read(block) if isinstance(block, ToolCallStreamBlock) else {}


def _request(request: ModelCall) -> JsonObject:
    names = list(request.models)
    fields = {
        "model": names[0],
        "models": names,
        "asked": request.model,
        "format": request.wire_format,
        "tools": request.tool_names,
    }
    return {**fields, "fields": request.fields}


def _stream(context: StreamingContext) -> JsonObject:
    state = context.state
    return {"blocks": state.begun, "tool_calls": state.tool_calls, "seconds": context.seconds}


def _session(context: StreamingContext) -> JsonObject:
    counts: SessionCounts = context.session
    seconds = (context.now() - counts.began_at) / 1_000_000 if counts.began_at else 0.0
    return {
        "streams": counts.streams,
        "blocks": counts.blocks,
        "tool_calls": counts.tool_calls,
        "output_tokens": counts.output_tokens,
        "cost": counts.cost,
        "seconds": seconds,
    }
