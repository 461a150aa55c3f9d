"""tool_schema: arguments must match what the request declared."""

import json
from typing import Any

import pytest

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.judgements import ChainContext
from streamviz.core.verdicts import Decision
from streamviz.policies import build
from tests.policies.support import block, context, judge

SCHEMA = {
    "type": "object",
    "required": ["path"],
    "additionalProperties": False,
    "properties": {"path": {"type": "string", "pattern": "^/tmp/"}, "depth": {"type": "integer", "maximum": 3}},
}


def declaring(schema: Any = SCHEMA, format: str = "openai_chat") -> ChainContext:
    tool: dict[str, Any]
    if format == "openai_chat":
        tool = {"type": "function", "function": {"name": "list", "parameters": schema}}
    elif format == "anthropic_messages":
        tool = {"name": "list", "input_schema": schema}
    elif format == "gemini":
        tool = {"functionDeclarations": [{"name": "list", "parametersJsonSchema": schema}]}
    else:
        tool = {"type": "function", "name": "list", "parameters": schema}
    return context({"tools": [tool]}, format)


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "openai_responses", "gemini"])
@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ('{"path": "/tmp/x"}', None),
        ('{"path": "/tmp/x", "depth": 3}', None),
        ('{"path": "/etc/x"}', "pattern"),
        ('{"path": "/tmp/x", "depth": 4}', "maximum"),
        ('{"path": 7}', "type"),
        ("{}", "required"),
        ("", "required"),
        ('{"path": "/tmp/x", "more": 1}', "additionalProperties"),
    ],
)
def test_arguments_are_checked(format: str, arguments: str, rule: str | None) -> None:
    verdict = judge(build("tool_schema", {}), block(arguments, name="list"), declaring(format=format))
    assert verdict.decision is (Decision.DENY if rule else Decision.ALLOW)
    assert verdict.evidence.get("rule") == rule


BY_NAME = {"name": "tool_call", "parameters": {"type": "object", "required": ["name"]}}


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ('{"path": "/tmp/x"}', None),
        ('{"path": "/etc/x"}', "pattern"),
        ({"path": "/etc/x"}, "pattern"),
        ({"name": "list", "arguments": {"path": "/etc/x"}}, "required"),
    ],
)
def test_a_declared_tool_is_checked_if_another_calls_it_by_name(given: Any, rule: str | None) -> None:
    own = {"name": "list", "parameters": SCHEMA}
    of = context({"tools": [{"type": "function", "function": each} for each in (BY_NAME, own)]})
    arguments = json.dumps({"name": "list", "arguments": given})
    verdict = judge(build("tool_schema", {}), block(arguments, name="tool_call"), of)
    assert verdict.decision is (Decision.DENY if rule else Decision.ALLOW)
    assert verdict.evidence.get("rule") == rule


def test_a_tool_of_which_the_request_says_nothing_may_be_called_by_name() -> None:
    of = context({"tools": [{"type": "function", "function": BY_NAME}]})
    arguments = json.dumps({"name": "mcp__fs__list", "arguments": {"path": 7}})
    assert judge(build("tool_schema", {}), block(arguments, name="tool_call"), of).decision is Decision.ALLOW


@pytest.mark.parametrize("name", ["List", "functions.list", " list", "", " "])
def test_where_other_tools_may_be_called_what_clients_run_as_a_declared_one_is_checked(name: str) -> None:
    rule = build("tool_schema", {"undeclared": "allow"})
    assert judge(rule, block('{"path": "/etc/x"}', name=name), declaring()).decision is Decision.DENY
    assert judge(rule, block('{"path": "/tmp/x"}', name=name), declaring()).decision is Decision.ALLOW


def test_the_text_for_the_client_is_a_parameter() -> None:
    assert judge(build("tool_schema", {"text": "no"}), block("{}", name="list"), declaring()).text == "no"


def test_a_reason_quotes_nothing_of_the_arguments() -> None:
    verdict = judge(build("tool_schema", {}), block('{"path": "hunter2"}', name="list"), declaring())
    assert "hunter2" not in repr(verdict)


def test_a_tool_that_was_not_declared_is_denied_unless_it_is_allowed() -> None:
    call = block("{}", name="rm")
    assert judge(build("tool_schema", {}), call, declaring()).decision is Decision.DENY
    assert build("tool_schema", {"undeclared": "allow"}).on_block_complete(call, declaring()) is None


def test_a_slow_pattern_of_the_clients_takes_no_longer() -> None:
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(b+)+$": {"type": "string"}}}
    arguments = json.dumps({"a": "a" * 50_000 + "!", "b" * 50_000: 1})
    assert judge(build("tool_schema", {}), block(arguments, name="list"), declaring(schema)).decision is Decision.DENY


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/schema", "file:///etc/passwd", "#/$defs/nothing"])
def test_nothing_is_fetched_that_a_schema_refers_to(reference: str) -> None:
    with pytest.raises(Exception, match="schema is invalid"):
        judge(build("tool_schema", {}), block("{}", name="list"), declaring({"$ref": reference}))


SLOW_KEY = "a" * 50_000 + "!"


@pytest.mark.parametrize("additional", [False, {"type": "string"}])
def test_a_slow_pattern_beside_additional_properties_takes_no_longer(additional: Any) -> None:
    schema = {"patternProperties": {"^(a+)+$": {"type": "integer"}}, "additionalProperties": additional}
    policy = build("tool_schema", {})
    assert judge(policy, block(json.dumps({SLOW_KEY: 1}), name="list"), declaring(schema)).decision is Decision.DENY
    assert judge(policy, block('{"aa": 1}', name="list"), declaring(schema)).decision is Decision.ALLOW


@pytest.mark.parametrize("schema", [
    {"properties": {"a": {"pattern": "^(?!-)[a-z]+$"}}}, {"patternProperties": {"(?=a)": True}},
    {"patternProperties": {"(?=a)": True}, "additionalProperties": False},
])  # fmt: skip
def test_a_pattern_that_cannot_be_read_is_a_failure_and_nothing_that_the_arguments_break(schema: Any) -> None:
    with pytest.raises(ValueError, match="RE2 cannot read"):
        judge(build("tool_schema", {}), block('{"a": "fine"}', name="list"), declaring(schema))


def test_what_breaks_a_schema_is_denied_whatever_cannot_be_read() -> None:
    schema = {"properties": {"path": {"enum": ["/srv"]}, "note": {"pattern": "^(?!x)"}}}
    verdict = judge(build("tool_schema", {}), block('{"path": "/etc", "note": "a"}', name="list"), declaring(schema))
    assert (verdict.decision, verdict.evidence["rule"]) == (Decision.DENY, "enum")


AHEAD = {"pattern": "^(?!x)"}


@pytest.mark.parametrize(
    "unread",
    [AHEAD, {"not": AHEAD}, {"if": AHEAD, "then": False}, {"anyOf": [{"not": {"oneOf": [AHEAD]}}]}],
    ids=str,
)
def test_what_breaks_a_schema_is_denied_whatever_cannot_be_read_before_it(unread: Any) -> None:
    offered = declaring({"properties": {"note": unread, "path": {"enum": ["/srv"]}}})
    policy = build("tool_schema", {})
    verdict = judge(policy, block('{"note": "a", "path": "/etc"}', name="list"), offered)
    assert (verdict.decision, verdict.evidence["rule"]) == (Decision.DENY, "enum")
    with pytest.raises(ValueError, match="RE2 cannot read"):
        judge(policy, block('{"note": "a", "path": "/srv"}', name="list"), offered)


def test_a_pattern_that_cannot_be_read_does_not_matter_beside_a_choice_that_fits() -> None:
    policy, call = build("tool_schema", {}), block('{"note": "a"}', name="list")
    for fits in ({"anyOf": [AHEAD, {"type": "string"}]}, {"anyOf": [{"not": AHEAD}, {"enum": ["a"]}]}):
        assert judge(policy, call, declaring({"properties": {"note": fits}})).decision is Decision.ALLOW
        denied = judge(policy, call, declaring({"properties": {"note": {"not": fits}}}))
        assert (denied.decision, denied.evidence["rule"]) == (Decision.DENY, "not")
    breaks = {"anyOf": [{"type": "integer"}, AHEAD, {"enum": ["b"]}]}
    with pytest.raises(ValueError, match="RE2 cannot read"):
        judge(policy, call, declaring({"properties": {"note": breaks}}))


DRAFTS: dict[int | str, str] = {number: f"http://json-schema.org/draft-0{number}/schema#" for number in (3, 4, 6, 7)}
DRAFTS["7, by https"] = DRAFTS[7].replace("http:", "https:")
DRAFTS |= {year: f"https://json-schema.org/draft/{year}/schema" for year in ("2019-09", "2020-12")}
PAIR = {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False}
DIALECTS: list[tuple[int | str, dict[str, Any], Any, Any]] = [
    (3, PAIR, ["a", 1], [1, "a"]),
    (3, {"minimum": 0, "exclusiveMinimum": True}, 1, 0),
    (3, {"disallow": "string"}, 1, "a"),
    (3, {"type": ["string", {"minimum": 3}]}, 4, 2),
    (4, PAIR, ["a", 1], ["a", 1, 2]),
    (4, {"minimum": 0, "exclusiveMinimum": True}, 1, 0),
    (4, {"type": "integer"}, 1, 1.0),
    (6, {"exclusiveMinimum": 0}, 1, 0),
    (7, PAIR, ["a", 1], ["a", "b"]),
    (7, {"$ref": "#small", "minimum": 9}, 2, 20),
    (7, {"dependencies": {"a": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}),
    (7, {"type": "integer"}, 1.0, 1.5),
    ("7, by https", PAIR, ["a", 1], ["a", "b"]),
    ("2019-09", PAIR, ["a", 1], [1, "a"]),
    ("2020-12", {"prefixItems": PAIR["items"], "items": False}, ["a", 1], ["a", 1, 2]),
]


def test_parts_of_a_schema_that_multiply_are_counted_whatever_looks_at_them() -> None:
    """The library looks below `dependentSchemas` by itself, for `unevaluatedProperties`."""
    two = [{"dependentSchemas": {name: {"$ref": f"#/$defs/{n + 1}"} for name in "ab"}} for n in range(22)]
    parts = {str(n): part for n, part in enumerate([*two, {}])}
    offered = declaring({"unevaluatedProperties": False, "$defs": parts, "$ref": "#/$defs/0"})
    with pytest.raises(ValueError, match="too long to check"):
        judge(build("tool_schema", {}), block('{"a": 1, "b": 1}', name="list"), offered)


@pytest.mark.parametrize(("draft", "rule", "valid", "invalid"), DIALECTS, ids=str)
def test_a_schema_is_read_in_its_own_dialect(draft: Any, rule: Any, valid: Any, invalid: Any) -> None:
    small = {"definitions": {"small": {"$id": "#small", "maximum": 9}}}
    offered = declaring({"$schema": DRAFTS[draft], **small, "properties": {"a": rule}})
    policy = build("tool_schema", {})
    assert judge(policy, block(json.dumps({"a": valid}), name="list"), offered).decision is Decision.ALLOW
    assert judge(policy, block(json.dumps({"a": invalid}), name="list"), offered).decision is Decision.DENY


@pytest.mark.parametrize("dialect", DRAFTS.values())
@pytest.mark.parametrize("is_part", [False, True])
def test_no_dialect_fetches_anything_or_takes_longer(dialect: str, is_part: bool) -> None:
    def offering(rule: Any) -> ChainContext:
        own = {"$schema": dialect, "properties": {"a": rule}}
        return declaring({"properties": {"part": own}} if is_part else {**own, "properties": {"part": own}})

    policy = build("tool_schema", {})
    slow = block(json.dumps({"part": {"a": SLOW_KEY}}), name="list")
    assert judge(policy, slow, offering({"pattern": "^(a+)+$"})).decision is Decision.DENY
    named = block(json.dumps({"part": {"a": {SLOW_KEY: 1}}}), name="list")
    slow_names = {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}
    assert judge(policy, named, offering(slow_names)).decision is Decision.DENY
    with pytest.raises(ValueError, match="schema is invalid"):
        judge(policy, slow, offering({"$ref": "http://127.0.0.1:9/schema"}))


@pytest.mark.parametrize("dialect", [5, [], {}, "http://[hunter2", "http://\u2100/hunter2"], ids=str)
def test_a_dialect_that_there_is_not_is_never_quoted(dialect: Any) -> None:
    with pytest.raises(ValueError, match="its schema is invalid"):
        judge(build("tool_schema", {}), block("{}", name="list"), declaring({"$schema": dialect}))


def test_a_dialect_that_nobody_knows_is_read_as_the_latest() -> None:
    offered = declaring({"$schema": "https://example.com/own", "prefixItems": [], "properties": {"a": {"const": 1}}})
    assert judge(build("tool_schema", {}), block('{"a": 2}', name="list"), offered).decision is Decision.DENY


def test_what_cannot_be_checked_safely_is_a_failure() -> None:
    schema = {"allOf": [{"patternProperties": {"^(a+)+$": True}}], "unevaluatedProperties": False}
    with pytest.raises(ValueError, match="not checked together"):
        judge(build("tool_schema", {}), block(json.dumps({SLOW_KEY: 1}), name="list"), declaring(schema))


def doubling(depth: int) -> Any:
    """A small schema that takes 2 to the power of `depth` steps."""
    steps = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/s0", "$defs": {**steps, f"s{depth}": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (doubling(60), '{"a": 1}'),
        ({"$ref": "#"}, "{}"),
        ({"type": "array", "items": {"type": "integer"}}, json.dumps([1] * 500_000)),
    ],
    ids=["doubling", "circular", "long"],
)
def test_what_would_take_too_long_is_a_failure(schema: Any, arguments: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        judge(build("tool_schema", {}), block(arguments, name="list"), declaring(schema))


@pytest.mark.parametrize("is_twice", [False, True])
def test_many_different_items_are_compared_quickly(is_twice: bool) -> None:
    items = [{"n": number} for number in range(20_000)]
    arguments = json.dumps({"list": items + items[:1] if is_twice else items})
    verdict = judge(
        build("tool_schema", {}),
        block(arguments, name="list"),
        declaring({"properties": {"list": {"uniqueItems": True}}}),
    )
    assert verdict.decision is (Decision.DENY if is_twice else Decision.ALLOW)


TYPED: list[tuple[str, dict[str, Any], str, str]] = [
    ("openai_responses", {"type": "custom", "name": "query", "format": {"type": "text"}}, "query",
     "custom_tool_call"),
    ("openai_chat", {"type": "custom", "custom": {"name": "query"}}, "query", "custom"),
    ("openai_responses", {"type": "local_shell"}, "local_shell", "local_shell_call"),
    ("openai_responses", {"type": "shell"}, "shell", "shell_call"),
    ("openai_responses", {"type": "apply_patch"}, "apply_patch", "apply_patch_call"),
    ("openai_responses", {"type": "computer_use_preview"}, "computer", "computer_call"),
    ("openai_responses", {"type": "mcp", "server_label": "x"}, "roll", "mcp_approval_request"),
    ("openai_responses", {"type": "mcp", "server_label": "x"}, "roll", "mcp_call"),
    ("openai_responses", {"type": "web_search_preview"}, "web_search", "web_search_call"),
    ("openai_responses", {"type": "namespace", "name": "a", "tools": [{"type": "function", "name": "b"}]}, "b", ""),
    ("openai_responses", {"type": "tool_search"}, "found_later", ""),
    ("anthropic_messages", {"type": "bash_20250124", "name": "bash"}, "bash", ""),
    ("anthropic_messages", {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
     "str_replace_based_edit_tool", ""),
    ("anthropic_messages", {"type": "computer_20250124", "name": "computer", "display_width_px": 1}, "computer", ""),
    ("anthropic_messages", {"type": "memory_20250818", "name": "memory"}, "memory", ""),
    ("anthropic_messages", {"type": "web_search_20250305", "name": "web_search"}, "web_search", "server_tool_use"),
    ("anthropic_messages", {"type": "code_execution_20250825", "name": "code_execution"}, "bash_code_execution",
     "server_tool_use"),
    ("anthropic_messages", {"type": "mcp_toolset", "mcp_server_name": "x"}, "roll", "mcp_tool_use"),
    ("openai_chat", {"type": "function", "function": {"name": "now"}}, "now", ""),
]  # fmt: skip


@pytest.mark.parametrize(("format", "tool", "name", "label"), TYPED)
def test_a_call_of_a_tool_that_was_offered_is_never_unknown(
    format: str, tool: dict[str, Any], name: str, label: str
) -> None:
    offered = context({"tools": [tool]}, format)
    called = block("any *text*" if "custom" in label else '{"command": "ls"}', name=name)
    assert isinstance(called, ToolCallStreamBlock)
    called.label = label
    verdict = build("tool_schema", {}).on_block_complete(called, offered)
    assert verdict is None or verdict.decision is Decision.ALLOW
    if label == "" and tool["type"] != "tool_search":
        assert judge(build("tool_schema", {}), called, context({"tools": []}, format)).decision is Decision.DENY


@pytest.mark.parametrize("label", ["shell_call", "local_shell_call", "computer_call", "mcp_approval_request", "custom"])
def test_a_call_that_the_client_carries_out_and_did_not_offer_is_denied(label: str) -> None:
    called = block("{}", name="shell")
    assert isinstance(called, ToolCallStreamBlock)
    called.label = label
    assert judge(build("tool_schema", {}), called, declaring()).decision is Decision.DENY


@pytest.mark.parametrize("label", ["custom", "function"])
def test_a_tool_of_the_clients_is_not_offered_by_the_type_of_another(label: str) -> None:
    tools = [{"type": "custom", "custom": {"name": "grep"}}, {"type": "function", "function": {"name": "list"}}]
    called = block("{}", name="bash")
    assert isinstance(called, ToolCallStreamBlock)
    called.label = label
    assert judge(build("tool_schema", {}), called, context({"tools": tools})).decision is Decision.DENY


def test_older_functions_are_declared_too() -> None:
    offered = context({"functions": [{"name": "list", "parameters": SCHEMA}]})
    policy = build("tool_schema", {})
    assert judge(policy, block('{"path": "/tmp/x"}', name="list"), offered).decision is Decision.ALLOW
    assert judge(policy, block('{"path": 7}', name="list"), offered).decision is Decision.DENY


def test_a_tool_that_is_added_in_the_conversation_is_declared() -> None:
    added = {"type": "tool_definition", "definition": {"name": "list", "input_schema": SCHEMA}}
    said = [{"role": "system", "content": [{"type": "tool_addition", "tool": added}]}]
    offered, policy = context({"messages": said}, "anthropic_messages"), build("tool_schema", {})
    assert judge(policy, block('{"path": "/tmp/x"}', name="list"), offered).decision is Decision.ALLOW
    assert judge(policy, block('{"path": 7}', name="list"), offered).decision is Decision.DENY


def test_a_schema_is_its_tools_whatever_else_the_tool_has() -> None:
    tool = {"name": "list", "input_schema": SCHEMA, "function": {"name": "ok"}}
    offered, policy = context({"tools": [tool]}, "anthropic_messages"), build("tool_schema", {})
    assert judge(policy, block('{"path": "/tmp/x"}', name="list"), offered).decision is Decision.ALLOW
    assert judge(policy, block('{"path": 7}', name="list"), offered).decision is Decision.DENY


def test_of_two_namespaces_either_schema_will_do() -> None:
    spaces = [
        {"type": "namespace", "name": name, "tools": [{"type": "function", "name": "get", "parameters": schema}]}
        for name, schema in (("a", SCHEMA), ("b", {"type": "object", "required": ["id"]}))
    ]
    offered, policy = context({"tools": spaces}, "openai_responses"), build("tool_schema", {})
    assert judge(policy, block('{"path": "/tmp/x"}', name="get"), offered).decision is Decision.ALLOW
    assert judge(policy, block('{"id": 1}', name="get"), offered).decision is Decision.ALLOW
    assert judge(policy, block('{"path": 7}', name="get"), offered).decision is Decision.DENY


def test_each_schema_of_two_namespaces_has_its_own_definitions_and_dialect() -> None:
    one = {"$defs": {"path": {"type": "string"}}, "properties": {"path": {"$ref": "#/$defs/path"}}}
    other = {"$schema": DRAFTS[4], "properties": {"path": {"minimum": 0, "exclusiveMinimum": True}}}
    spaces = [
        {"type": "namespace", "name": name, "tools": [{"type": "function", "name": "get", "parameters": schema}]}
        for name, schema in (("a", one), ("b", other | {"required": ["path"]}))
    ]
    offered, policy = context({"tools": spaces}, "openai_responses"), build("tool_schema", {})
    assert judge(policy, block('{"path": "/tmp/x"}', name="get"), offered).decision is Decision.ALLOW
    assert judge(policy, block('{"path": 1}', name="get"), offered).decision is Decision.ALLOW
    assert judge(policy, block('{"path": 0}', name="get"), offered).decision is Decision.DENY


SECRET = "hunter2secret"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": SECRET},
        {"$ref": f"#/$defs/{SECRET}"},
        {"properties": SECRET},
        {"required": 5},
        {"$ref": f"x:/{SECRET}"},
    ],
    ids=str,
)
def test_a_failure_quotes_neither_arguments_nor_schema(schema: Any) -> None:
    with pytest.raises(ValueError, match="schema is invalid") as failure:
        judge(build("tool_schema", {}), block(json.dumps({"a": SECRET}), name="list"), declaring(schema))
    assert SECRET not in str(failure.value)


def test_a_denial_does_not_depend_on_types_that_cannot_be_read() -> None:
    offered = declaring({"properties": {"a": {"const": 1, "type": ["integer", SECRET]}}})
    verdict = judge(build("tool_schema", {}), block(json.dumps({"a": SECRET}), name="list"), offered)
    assert (verdict.decision, verdict.evidence["rule"]) == (Decision.DENY, "const")
