"""A policy's rule in words: what it denies, and how it runs. Names and patterns are in backticks."""

from collections.abc import Callable
from typing import Any, NamedTuple

from streamviz.core.json_value import as_json_text
from streamviz.policies.registry import REGISTRY
from streamviz.records.models.policies import PolicyFields

# What each kind is for, and an example of what it finds.
KINDS = {
    "tool_rule": (
        "Denies tool calls by name and by patterns in their arguments, or allows only those.",
        "run_shell where $.command has rm -rf",
    ),
    "cel_rule": (
        "Denies or halts when an expression over the block, request and session is true.",
        'block.name == "query" && block.arguments.sql.contains("DROP")',
    ),
    "text_rule": ("Replaces what matches in what the model says, or halts there.", "Project Heron → the project"),
    "redact": ("Masks secrets and personal data in requests, text and arguments.", "sk-live-4f… → [api key removed]"),
    "tool_schema": (
        "Arguments must match the schema that the request declared for the tool.",
        "hunks: missing, a list is required",
    ),
    "llm_judge": (
        "Asks a model how well a call or text fits your description.",
        "“asks to skip tests”, at 0.8 or above",
    ),
    "limits": (
        "Limits blocks, calls, tokens, cost or time per stream, session or key.",
        "$5 or 40 calls per session",
    ),
    "request_rule": ("Denies requests by their content; sets or drops parameters.", "drop logprobs"),
    "shell_rule": ("Reads shell commands as a shell would, and denies those that would do harm.", "rm -rf ~/work"),
    "python": ("A class of your own, which runs inside the server. Administrators only.", "my_policies.quiet.Quiet"),
}
# Longer lists are only long because of their defaults.
_MOST_NAMED = 12


class Rule(NamedTuple):
    """A sentence; the other parameters, and how the policy runs, as names with words."""

    sentence: str
    parameters: list[tuple[str, str]]
    running: list[tuple[str, str]]


def rule_of(policy: PolicyFields) -> Rule:
    """A policy's rule."""
    known: dict[str, Any] = policy.parameters
    say = _SENTENCES.get(policy.kind)
    if say is not None:
        sentence, told = say(known)
    else:
        sentence, told = _about(policy.kind), set()
    left = [(name.replace("_", " "), _value(value)) for name, value in known.items() if name not in told and value]
    return Rule(sentence, [each for each in left if each[0] != "text"], _running(policy))


def _about(kind: str) -> str:
    return REGISTRY[kind].about.split("\n\n")[0].replace("\n", " ") if kind in REGISTRY else f"A kind `{kind}`."


def _tool_rule(known: dict[str, Any]) -> tuple[str, set[str]]:
    names = _either(known.get("names") or [])
    calls = f"calls to {names}" if names else "every tool call"
    wanted = known.get("arguments") or []
    conditions = [f"`{each.get('path', '$')}` matches `{each.get('pattern', '')}`" for each in wanted]
    when = f" when {' or '.join(conditions)}" if conditions else ""
    is_only = known.get("action") == "allow_only"
    start = "Allows only" if is_only else "Denies"
    return f"{start} {calls}{when}.", {"names", "arguments", "action"}


def _cel_rule(known: dict[str, Any]) -> tuple[str, set[str]]:
    verb = "Halts at" if known.get("decision") == "halt" else "Denies"
    what = _either(known.get("on") or ["tool_call"]).replace("_", " ")
    return f"{verb} {what} where `{known.get('expression', '')}`.", {"expression", "on", "decision"}


def _text_rule(known: dict[str, Any]) -> tuple[str, set[str]]:
    patterns, where = _either(known.get("patterns") or []), _either(known.get("in") or ["content"])
    if known.get("action") == "halt":
        return f"Halts where {where} matches {patterns}.", {"patterns", "in", "action"}
    instead = known.get("replacement", "[removed]")
    words = f"Replaces {patterns} in {where} with `{instead}`." if instead else f"Removes {patterns} from {where}."
    return words, {"patterns", "in", "action", "replacement"}


def _redact(known: dict[str, Any]) -> tuple[str, set[str]]:
    default = REGISTRY["redact"].schema["properties"]
    assert isinstance(default, dict)
    find, where = ((known.get(name) or default[name]["default"]) for name in ("find", "in"))
    return f"Masks {_either(find)} in {_either(where).replace('_', ' ')}.", {"find", "in"}


def _llm_judge(known: dict[str, Any]) -> tuple[str, set[str]]:
    what = _either(known.get("on") or ["tool_call"]).replace("_", " ")
    verb = "halts" if known.get("decision") == "halt" else "denies"
    asked = f"Asks `{known.get('model', '')}` about {what}, and {verb} at {known.get('threshold', 0.5)} or above"
    return f"{asked}: {known.get('instructions', '')}", {"model", "on", "decision", "threshold", "instructions"}


_SENTENCES: dict[str, Callable[[dict[str, Any]], tuple[str, set[str]]]] = {
    "tool_rule": _tool_rule,
    "cel_rule": _cel_rule,
    "text_rule": _text_rule,
    "redact": _redact,
    "llm_judge": _llm_judge,
}


def _running(policy: PolicyFields) -> list[tuple[str, str]]:
    text = policy.parameters.get("text")
    limit = f"time limit {policy.time_limit:g} s"
    scopes = {
        "models": policy.models_scope,
        "keys": policy.keys_scope,
        "blocks": policy.kinds_scope,
        "tools": policy.tools_scope,
    }
    scope = "; ".join(f"{name} {globs}" for name, globs in scopes.items() if globs)
    return [
        *([("The client gets", f"“{text}”")] if text else []),
        ("A person decides", _by_hand(policy)),
        ("If it fails", f"{'allows' if policy.fail_open else 'denies'}; {limit}"),
        ("Scope", scope or "everything"),
        ("Order", str(policy.order)),
    ]


def _by_hand(policy: PolicyFields) -> str:
    if not policy.by_hand:
        return "nobody is asked"
    if _is_about_requests(policy):
        return "nobody is asked: requests are denied at once"
    within = f"within {policy.by_hand_seconds:g} s, then {policy.by_hand}"
    if not _replaces(policy):
        return within
    return "nobody is asked: what it finds is replaced at once" if policy.fail_open else f"if it fails: {within}"


def _is_about_requests(policy: PolicyFields) -> bool:
    """Whether it judges no part of an answer."""
    known = policy.parameters
    if policy.kind == "limits":
        return bool(known) and not known.get("stream")
    of_answers = set(known.get("in") or known.get("on") or ["content"]) - {"request", "tool_results"}
    return policy.kind == "request_rule" or not of_answers


def _replaces(policy: PolicyFields) -> bool:
    """Whether it changes what it finds, and denies only if it fails."""
    is_text = policy.kind == "text_rule" and policy.parameters.get("action") != "halt"
    return is_text or policy.kind == "redact"


def _either(names: list[Any]) -> str:
    shown = [f"`{name}`" for name in names[:_MOST_NAMED]]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    *first, last = [*shown, *more] or [""]
    return f"{', '.join(first)} or {last}" if first else last


def _value(value: object) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return _either(value)
    return f"`{value if isinstance(value, str) else as_json_text(value)}`"
