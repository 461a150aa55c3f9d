"""tool_rule: which calls it denies, and that no spelling of the arguments gets past it."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz import policies
from streamviz.core.blocks import ContentStreamBlock, StreamBlock, ToolCallStreamBlock
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockDelta
from streamviz.core.judgements import ChainContext
from streamviz.core.verdicts import ALLOW, Decision, Verdict
from tests.core.support import active, call, calls, delta, run, sse, told

RM = {"pattern": r"rm\s+-rf", "path": "$.command"}


def block(name: str = "run_shell", arguments: str = "{}") -> StreamBlock:
    made = ToolCallStreamBlock(0, "x", name=name)
    made.grow(BlockDelta(0, arguments))
    return made


def judge(parameters: dict[str, Any], judged: StreamBlock) -> Verdict | None:
    rule = policies.build("tool_rule", parameters)
    verdict = rule.on_block_complete(judged, ChainContext("run-1", lambda: 0))
    assert verdict is None or isinstance(verdict, Verdict)
    return verdict


def denies(parameters: dict[str, Any], arguments: object, name: str = "run_shell") -> bool:
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    verdict = judge(parameters, block(name, raw))
    assert verdict is not None
    return verdict.decision is Decision.DENY


@pytest.mark.parametrize(
    ("names", "name", "denied"),
    [
        (["run_shell"], "run_shell", True),
        (["run_*"], "run_shell", True),
        (["read", "run_?hell"], "run_shell", True),
        (["run"], "run_shell", False),
        (["RUN_*"], "run_shell", True),
        (["bash"], "Bash", True),  # opencode runs `bash`
        (["Bash"], "bash", True),
        (["bash"], " bash\n", True),  # GAIA, OpenClaw and others strip names
        (["bash"], "\ufeffbash\u00a0", True),  # so do JavaScript and Python
        (["bash"], "functions.bash", True),  # OpenAI's models write it; Maki and OpenClaw run `bash`
        (["bash"], "functions/Bash:0", True),  # OpenClaw
        (["bash"], "default_api:bash", True),  # Gemini
        (["bash"], "bash()", True),  # GAIA
        (["web_search"], "web-search", True),  # GAIA, Roo Code
        (["web-search"], "Web Search", True),  # Hermes
        (["bash"], "", True),  # OpenClaw finds the name in an id such as `functions.bash:0`
        (["bash"], " ", True),
        (["bash"], "\ufeff", True),
        (["bash:0"], "bash:0", True),
        (["container.exec"], "container.exec", True),
        (["bash"], "bash.read", False),
        (["bash"], "rebash", False),
        (["bash"], "bash_0", False),
        (["run[1]"], "run[1]", True),
        (["run[1]"], "run1", False),
        ([], "anything", True),
        (["*"], "", True),
    ],
)
def test_a_name_is_denied_by_globs(names: list[str], name: str, denied: bool) -> None:
    assert denies({"names": names}, {}, name) is denied


def test_a_call_without_a_name_may_be_of_any_tool() -> None:
    made = ToolCallStreamBlock(0, "x", label="custom_tool_call")
    verdict = judge({"names": ["bash"]}, made)
    assert verdict is not None
    assert verdict.reason == "A call without a name is denied: it may be a call to bash."


def test_what_alone_is_allowed_is_named_as_written() -> None:
    allowed = {"names": ["bash"], "action": "allow_only"}
    assert not denies(allowed, {}, "bash")
    assert denies(allowed, {}, "Bash")


def test_a_look_alike_in_another_case_is_denied_too() -> None:
    assert denies({"names": ["bash"], "normalise": True}, {}, "B\u0430sh")  # with a Cyrillic letter


def test_name_and_arguments_must_both_match() -> None:
    rule = {"names": ["run_*"], "arguments": [RM, {"pattern": "mkfs"}]}
    assert denies(rule, {"command": "rm  -rf /"})
    assert denies(rule, {"command": "sudo mkfs"})
    assert not denies(rule, {"command": "ls"})
    assert not denies(rule, {"command": "rm -rf /"}, "read_file")


@pytest.mark.parametrize(
    ("path", "arguments", "denied"),
    [
        ("$.command", {"command": "rm -rf /"}, True),
        ("$.command", {"note": "rm -rf /"}, False),
        ("$..command", {"steps": [{"command": "ls"}, {"command": "rm -rf /"}]}, True),
        ("$.args[1]", {"args": ["ls", "rm -rf"]}, True),
        ("$.args[0]", {"args": ["ls", "rm -rf"]}, False),
        ("$.args", {"args": ["rm -rf"]}, True),
        ("$['a b']", {"a b": "rm -rf"}, True),
        ("$..['$..x']", {"a": {"$..x": "rm -rf"}}, True),
        ("$.steps[0, 'last']['command']", {"steps": [{"command": "rm -rf /"}]}, True),
        ("$['input', \"args\"][ 'command' , 'cmd' ][*, 0]", {"args": {"cmd": ["rm -rf /"]}}, True),
        (f"$..[{str([*'abcdefghijkl'])[1:-1]}]", {"x": {"l": "rm -rf"}}, True),
        ("$['[', *, ']']", {"a": "rm -rf"}, True),
        (None, {"a": {"b": ["x", "rm -rf"]}}, True),
        (None, {"rm -rf": 1}, True),
    ],
)
def test_a_pattern_is_looked_for_at_its_path(path: str | None, arguments: object, denied: bool) -> None:
    rule = {"pattern": r"rm\s+-rf"} | ({"path": path} if path else {})
    assert denies({"arguments": [rule]}, arguments) is denied


@pytest.mark.parametrize(
    "raw",
    [
        '{"command":"\\u0072m -rf /"}',
        '{"command":"rm\\n-rf /"}',
        '{"command":"rm -rf /"',
        '{"command":"\\u0072m -rf /"',
        '{"command":"rm\\t-rf /',
        "rm -rf /",
        '["rm -rf /"]',
        '{"command":"rm -rf /","command":"ls"}',
        '{"command":"ls","command":"rm -rf /"}',
        '{"command":"ls"}{"command":"rm -rf /"}',
        '{"command":"rm -rf /","x":NaN}',
        '{"command":"rm -rf / \\ud800"}',
        '{"command":["rm -rf /","\\ud800"]}',
        '\ufeff{"command":"rm -rf /"}',
        json.dumps(json.dumps({"command": "rm -rf /"})),
        json.dumps('{"command":"\\u0072m -rf /"}'),
        '{"a":' * 300 + '{"command":"rm -rf /"}' + "}" * 300,
        '{"x":' + "9" * 5000 + ',"command":"rm -rf /"}',
        '{"command":"' + "x" * 2_000_000 + ' rm -rf /"}',
    ],
)
@pytest.mark.parametrize("path", ["$.command", None])
def test_no_way_of_writing_the_arguments_slips_by(raw: str, path: str | None) -> None:
    with suppress(ValueError):
        assert denies({"arguments": [RM if path else {"pattern": RM["pattern"]}]}, raw)


@given(st.text(max_size=60))
def test_any_arguments_are_judged_or_a_failure(raw: str) -> None:
    with suppress(ValueError):
        denies({"arguments": [{"pattern": "a", "path": "$..a"}, {"pattern": "b"}]}, raw)


def test_what_cannot_be_read_is_denied_where_a_pattern_without_a_path_is_in_it() -> None:
    assert denies({"arguments": [RM, {"pattern": "mkfs"}]}, '{"command":"mkfs"')
    with pytest.raises(ValueError, match="cannot be read"):
        denies({"arguments": [RM, {"pattern": "mkfs"}]}, '{"command":"rm -rf /"')


def test_a_call_that_has_no_name_goes_by_what_its_wire_calls_it() -> None:
    made = ToolCallStreamBlock(0, "x", label="shell_call")
    verdict = judge({"names": ["shell_*"]}, made)
    assert verdict is not None
    assert verdict.decision is Decision.DENY


def test_of_plain_text_a_path_sees_its_input() -> None:
    made = ToolCallStreamBlock(0, "x", name="sql", label="custom_tool_call")
    made.grow(BlockDelta(0, "DROP TABLE users"))
    verdict = judge({"arguments": [{"path": "$.input", "pattern": "^DROP"}]}, made)
    assert verdict is not None
    assert verdict.decision is Decision.DENY


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=4), st.booleans())
def test_what_is_in_a_value_is_found_however_it_is_escaped(members: dict[str, str], ascii_only: bool) -> None:
    raw = json.dumps({**members, "command": "x rm -rf /"}, ensure_ascii=ascii_only)
    assert denies({"arguments": [RM]}, raw)
    assert denies({"arguments": [{"pattern": "rm -rf"}]}, raw)


def test_a_pattern_that_would_never_end_elsewhere_ends_here() -> None:
    assert not denies({"arguments": [{"pattern": "^(a+)+$"}]}, '{"x":"' + "a" * 200_000 + '!"}')


def test_only_tool_calls_are_held_and_judged() -> None:
    rule = policies.build("tool_rule", {})
    text = ContentStreamBlock(0, "content")
    assert (rule.holds(block()), rule.holds(text)) == (True, False)
    assert judge({}, text) is None
    assert judge({"names": ["x"]}, block()) is ALLOW


def test_the_reason_tells_name_and_pattern_and_never_the_arguments() -> None:
    verdict = judge({"names": ["run_*"], "arguments": [RM]}, block(arguments='{"command":"rm -rf / secret"}'))
    assert verdict == Verdict(
        Decision.DENY,
        r"run_shell is denied: its name matches run_* and its arguments match rm\s+-rf at $.command.",
        evidence={"name": "run_*", "rule": r"rm\s+-rf at $.command", "start": 0, "end": 6},
    )
    everything = judge({}, block("n" * 1000))
    assert everything is not None
    assert everything.reason == "n" * 80 + "… is denied: every tool call is."


def test_the_text_for_the_client_is_a_parameter() -> None:
    verdict = judge({"text": "No."}, block())
    assert verdict is not None
    assert verdict.text == "No."


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"names": "run_shell"}, "names"),
        ({"names": [1]}, "names.0"),
        ({"names": [""]}, "names.0"),
        ({"argument": []}, ""),
        ({"arguments": [{"path": "$.a"}]}, "arguments.0"),
        ({"arguments": [{"pattern": "a"}, {"pattern": "("}]}, "arguments.1.pattern"),
        ({"arguments": [{"pattern": "(?=a)"}]}, "arguments.0.pattern"),
        ({"arguments": [{"pattern": r"(a)\1"}]}, "arguments.0.pattern"),
        ({"arguments": [{"pattern": "a", "path": "command"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": "$.a."}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": "$[?search(@.a, '(a+)+$')]"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": "$..a..b"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": "$.a[?$..b == @]"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": "$[*,*][*,*]"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": f"$[{','.join('*' * 11)}]"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": "$['a','a']['a','a']"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": r"$['a','\u0061']['a','\u0061']"}]}, "arguments.0.path"),
        ({"arguments": [{"pattern": "a", "path": "$['[',*,*,']']['[',*,*,']']"}]}, "arguments.0.path"),
        ({"text": None}, "text"),
    ],
)
def test_it_rejects_other_parameters_and_names_the_field(parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(PolicyParametersError) as raised:
        policies.build("tool_rule", parameters)
    assert raised.value.field == field
    assert str(raised.value).startswith(field)
    assert "\n" not in str(raised.value)


def test_an_unknown_kind_is_rejected() -> None:
    with pytest.raises(PolicyParametersError, match="no_rule") as raised:
        policies.build("no_rule", {})
    assert raised.value.field == "kind"
    assert ("tool_rule", "tool rule") in policies.kinds()


async def test_in_a_stream_it_denies_the_dangerous_call_and_lets_the_other_through() -> None:
    rule = active(policies.build("tool_rule", {"names": ["run_shell"], "arguments": [RM]}), name="shell")
    dangerous = [calls(call(0, "x", "run_shell", '{"command":"rm ')), calls(call(0, arguments='-rf /"}'))]
    it = await run([rule], *dangerous, delta(finish="tool_calls"), "[DONE]")
    assert told(it.client_state) == [("content", "[Denied by policy shell.]")]
    assert b"-rf" not in it.tape
    harmless = calls(call(0, "x", "run_shell", '{"command":"ls"}'))
    assert (await run([rule], harmless)).tape == sse(harmless)


ONLY_SRV = {"action": "allow_only", "names": ["read"], "arguments": [{"path": "$..path", "pattern": "^/srv/"}]}


@pytest.mark.parametrize(
    ("arguments", "denied"),
    [
        ({"path": "/srv/x"}, False),
        ({"path": "/etc/x"}, True),
        ({"path": "/srv/x", "more": {"path": "/etc/x"}}, True),
        ({"other": "/srv/x"}, True),
    ],
)
def test_what_alone_is_allowed_is_all_of_it_and_readable(arguments: object, denied: bool) -> None:
    assert denies(ONLY_SRV, arguments, "read") is denied


def test_too_many_values_for_a_path_are_a_failure() -> None:
    raw = json.dumps({"list": [0] * 60_000, "command": "rm -rf /"})
    with pytest.raises(ValueError, match="too many values"):
        denies({"arguments": [RM]}, raw)
    assert denies({"arguments": [{"pattern": "rm -rf"}]}, raw)
