"""Wildcards in names: what is special, and that nothing else is, wherever operators can use them."""

import pytest

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.model_names import fits, fits_called, matching
from streamviz.core.policy_settings import BlockScope
from streamviz.core.verdicts import Mode
from streamviz.executors.mcp_tools import McpServer
from streamviz.policies.shell.calls import is_shell
from streamviz.policies.shell.deletable_paths import may_delete
from streamviz.records.rules import Privacy
from streamviz.records.scoped_policies import ScopedPolicy


@pytest.mark.parametrize(
    ("name", "glob", "found"),
    [
        ("claude-opus-4[1m]", "claude-opus-4[1m]", True),
        ("claude-opus-4[1m]", "claude-*[1m]", True),
        ("claude-opus-4[1m]", "claude-opus-4[?m]", True),
        ("claude-opus-41", "claude-opus-4[1m]", False),
        ("a", "[!b]", False),
        ("a.b", "a?b", True),
        ("axb", "a.b", False),
        ("a\nb", "*", True),
        ("A", "a", False),
    ],
)
def test_a_star_is_any_text_and_a_question_mark_a_character(name: str, glob: str, found: bool) -> None:
    assert fits(name, glob) is found


def is_scoped(models: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    scoped = ScopedPolicy("p", 1, Mode.ENFORCE, models, keys, trouble="in scope")
    return scoped.why_not(("m[1]",), "ci[1]") == "in scope"


def test_brackets_are_brackets_in_every_scope() -> None:
    assert matching(("m[1]",), ["M[1]"])
    assert is_scoped(("m[1]",), ("ci[1]",))
    assert not is_scoped((), ("ci1",))
    assert not Privacy(shapes_of_keys=("ci[1]",)).keeps_content((), "ci[1]")
    assert BlockScope(tools=("t[1]",)).applies(ToolCallStreamBlock(0, "x", name="t[1]"))
    assert BlockScope(tools=("bash",)).applies(ToolCallStreamBlock(0, "x", name="Bash"))
    assert not BlockScope(tools=("bash",)).applies(ToolCallStreamBlock(0, "x", name="bashful"))


@pytest.mark.parametrize("name", ["bash:0", "bash()", " bash", "mcp:2/bash"])
def test_a_tool_has_the_name_that_it_is_called_by(name: str) -> None:
    assert fits_called(name, name)


@pytest.mark.parametrize("name", [" bash", "functions.bash", "bash:0"])
def test_a_scope_of_tools_has_all_that_clients_run_as_them(name: str) -> None:
    assert BlockScope(tools=("bash",)).applies(ToolCallStreamBlock(0, "x", name=name))
    assert is_shell(name, ["bash"])


@pytest.mark.parametrize("name", ["", " ", "\ufeff"])
@pytest.mark.parametrize("label", ["", "custom", "custom_tool_call", "function_call"])
def test_a_scope_of_tools_has_a_call_without_a_name(name: str, label: str) -> None:
    assert BlockScope(tools=("bash",)).applies(ToolCallStreamBlock(0, "x", name=name, label=label))


def test_a_call_may_have_the_name_of_its_type() -> None:
    assert not BlockScope(tools=("bash",)).applies(ToolCallStreamBlock(0, "x", label="shell_call"))


def test_brackets_are_brackets_in_what_may_be_used_or_deleted() -> None:
    assert is_shell("sh[1]", ["SH[1]"])
    assert not is_shell("sh1", ["sh[1]"])
    assert may_delete("build[1]", ["build[1]"])
    assert not may_delete("build1", ["build[1]"])
    assert not McpServer("files", tools=("[a-z]*",))._may_be_used("read")
