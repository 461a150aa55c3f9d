"""tool_rule: denies tool calls by name and by what is in their arguments."""

from collections.abc import Sequence
from typing import NamedTuple

from jsonpath import JSONPath

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.calls import calls_by_name
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_text, objects
from streamviz.core.model_names import fits, fits_called
from streamviz.core.policy import Policy
from streamviz.core.policy_settings import is_nameless, names_of
from streamviz.core.verdicts import ALLOW, Decision, Verdict
from streamviz.policies.argument_paths import compile_path, names_in
from streamviz.policies.arguments import Arguments
from streamviz.policies.folding import folded, forms, with_folded
from streamviz.policies.parameters import (
    MOST_CHARACTERS,
    MOST_STEPS,
    Pattern,
    check,
    compile_pattern,
    encodable,
    shortened,
)

_LONGEST_NAME = 80
# Following a path takes a few µs per value.
_MOST_VALUES = 300


class ArgumentRule(NamedTuple):
    """A pattern and where to look for it; `words` describes both."""

    words: str
    path: JSONPath | None
    pattern: Pattern


class Found(NamedTuple):
    """A rule whose pattern was found, and where in the text it was found."""

    rule: ArgumentRule
    start: int
    end: int


class ToolRule(Policy):
    """Denies a tool call whose name matches one of `names` and whose arguments match one of `arguments`, or with the
    action `allow_only` every tool call except those.

    `names` are globs (`run_*`). They also match what some client runs as a tool of that name: in another case, with
    spaces around it, with hyphens or spaces for underscores, after a dot, slash or colon (`functions.bash`), and a
    call without any name. With none, every name matches. Each of `arguments` has a `pattern`, an RE2 regular
    expression, and may have a `path`, a JSON path (RFC 9535, `$.command`, `$..path`); without a path the pattern is
    looked for everywhere, also in a text that is JSON itself, into which no path leads. With no `arguments`, the name
    alone decides. If a tool takes plain text, that is at
    `$.input`. With `allow_only`, everything at a path must match. `text` is what the client gets instead of the call;
    if it is empty, a line that names the policy.

    Arguments that clients do not all read as the same JSON object (cut off, a duplicate key, nested deeper than 200)
    are a failure of the policy, unless a pattern without a path is found in them and denies. A call that has no name on
    the wire goes by its label (`shell_call`).

    With `normalise`, names and arguments are also matched as a reader sees them: without invisible characters and
    accents, in compatible forms (NFKC), look-alikes of other scripts as Latin letters; arguments also as decoded from
    JSON in JSON, base64 and percent-encoding, three levels deep. `allow_only` always reads both as written.

    Each tool call is held until it is whole and judged.
    """

    kind = "tool_rule"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "description": "Tool names; * and ? are wildcards. Empty means every tool.",
            },
            "arguments": {
                "type": "array",
                "description": "What to look for in the arguments, and where (a JSON path).",
                "examples": [[{"path": "$.command", "pattern": "rm -rf"}]],
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["pattern"],
                    "properties": {
                        "path": {"type": "string", "minLength": 1},
                        "pattern": {"type": "string", "minLength": 1},
                    },
                },
            },
            "action": {
                "enum": ["deny", "allow_only"],
                "default": "deny",
                "description": "Deny calls that match, or calls that do not.",
            },
            "text": {"type": "string", "description": "Text the client gets instead of a denied call."},
            "normalise": {
                "type": "boolean",
                "default": False,
                "description": "Also match through look-alikes, invisible characters, base64 and escapes.",
            },
        },
    }

    reads = frozenset()

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._names = [as_text(name) for name in as_list(parameters.get("names"))]
        self._allows_only = parameters.get("action") == "allow_only"
        self._normalises = parameters.get("normalise") is True and not self._allows_only
        self._rules = [
            _argument_rule(rule, f"arguments.{number}", self._normalises)
            for number, rule in enumerate(objects(parameters.get("arguments")))
        ]
        paths = (as_text(rule.get("path")) for rule in objects(parameters.get("arguments")))
        self._spelt = frozenset(name for path in paths for name in names_in(path))
        self._text = as_text(parameters.get("text"))

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        """Raises ValueError if the arguments cannot be read, and a rule needs that."""
        if not isinstance(block, ToolCallStreamBlock):
            return None
        names = names_of(block)
        may_be_any = is_nameless(block)
        called = "" if may_be_any else names[-1]
        name = next((name for name in self._names if self._is_any(names, name, may_be_any=may_be_any)), None)
        is_named = name is not None or not self._names
        if calls_by_name(block.name) and (self._allows_only or not is_named):
            self.require_short(_is_short((), block.arguments))
            Arguments(block).require_readable()  # or it is unclear which tool it calls
        found = self._found(block) if is_named and self._rules else None
        is_match = is_named and (found is not None or not self._rules)
        if is_match is self._allows_only:
            return ALLOW
        if self._allows_only:
            return Verdict(Decision.DENY, f"{_shown(called)} is not among what is allowed.", self._text)
        return Verdict(Decision.DENY, _reason(called, name, found), self._text, _evidence(name, found))

    def _is_any(self, names: Sequence[str], wanted: str, *, may_be_any: bool) -> bool:
        """Whether a call by one of these names is, or may be, of the wanted tool."""
        if self._allows_only:
            return any(fits(name, wanted) for name in names)
        return may_be_any or any(self._fits(name, wanted) for name in names)

    def _fits(self, called: str, name: str) -> bool:
        return fits_called(called, name) or (self._normalises and fits_called(folded(called), folded(name)))

    def _found(self, block: ToolCallStreamBlock) -> Found | None:
        """The first rule that these arguments match. Raises ValueError if they cannot be read."""
        # Decoding produces more texts to search.
        self.require_short(not self._normalises and _is_short(self._rules, block.arguments))
        arguments = Arguments(block, self._spelt)
        if self._allows_only:
            arguments.require_readable()
            return _allowing(self._rules, arguments) if arguments.is_spelt_so else None
        found = _matching([rule for rule in self._rules if rule.path is None], arguments, self._normalises)
        if found is None:
            arguments.require_readable()
        return found or _matching([rule for rule in self._rules if rule.path is not None], arguments, self._normalises)


def _is_short(rules: Sequence[ArgumentRule], raw: str) -> bool:
    """Whether searching these arguments takes a few ms at most, whatever is in them."""
    if len(raw) > MOST_CHARACTERS or len(raw) * sum(rule.pattern.programsize for rule in rules) > MOST_STEPS:
        return False
    values = sum(map(raw.count, ",:[{"))
    return values * sum(rule.path is not None for rule in rules) < _MOST_VALUES


def _argument_rule(rule: JsonObject, field: str, normalises: bool) -> ArgumentRule:
    path, pattern = as_text(rule.get("path")), as_text(rule.get("pattern"))
    compiled = compile_path(path, f"{field}.path") if path else None
    words = f"{pattern} at {path}" if path else pattern
    read = with_folded(pattern, f"{field}.pattern") if normalises else pattern
    return ArgumentRule(words, compiled, compile_pattern(read, f"{field}.pattern"))


def _matching(rules: Sequence[ArgumentRule], arguments: Arguments, normalises: bool = False) -> Found | None:
    """The first rule whose pattern is in these arguments, and where."""
    for rule in rules:
        for text in arguments.texts(rule.path):
            for form in (text, *forms(text)) if normalises else (text,):
                if match := rule.pattern.search(encodable(form)):
                    return Found(rule, match.start(), match.end())
    return None


def _allowing(rules: Sequence[ArgumentRule], arguments: Arguments) -> Found | None:
    """The first rule that allows these arguments: everything at its path matches, as every client reads it."""
    for rule in rules:
        if rule.path is None:
            found = _matching([rule], arguments)
        else:
            matches = [rule.pattern.search(encodable(text)) for text in arguments.texts(rule.path)]
            first = matches[0] if matches and all(matches) else None
            found = None if first is None else Found(rule, first.start(), first.end())
        if found is not None:
            return found
    return None


def _evidence(name: str | None, found: Found | None) -> JsonObject:
    """Which rule matched, and where in the text: never the text itself."""
    named: JsonObject = {} if name is None else {"name": name}
    return named if found is None else {**named, "rule": found.rule.words, "start": found.start, "end": found.end}


def _reason(called: str, name: str | None, found: Found | None) -> str:
    """Which name and which pattern, in words, without the arguments, which may hold a secret."""
    why = [f"its name matches {name}" if called else f"it may be a call to {name}"] if name is not None else []
    why += [f"its arguments match {found.rule.words}"] if found is not None else []
    return f"{_shown(called)} is denied: {' and '.join(why) or 'every tool call is'}."


def _shown(called: str) -> str:
    return shortened(called, _LONGEST_NAME) or "A call without a name"
