"""What the command line says to people who do not know its commands."""

import os
from pathlib import Path

import pytest

from streamviz.faults import Fault
from streamviz.ops.command_line import OURS, CommandLine
from streamviz.ops.management import commands


def test_help_lists_our_commands_with_their_descriptions() -> None:
    told = CommandLine(["manage.py", "help"]).main_help_text()
    assert [line.split()[0] for line in told.splitlines() if line.startswith("  ")] == OURS
    assert "  key               Create, list and revoke API keys.\n" in told
    assert told.isascii()  # a terminal may have nothing else
    files = Path(commands.__path__[0]).glob("[a-z]*.py")
    assert {file.stem for file in files} - set(OURS) == {"screens"}  # which a server starts itself


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("retension", "Did you mean `python manage.py retention`?"),
        ("start", "`python manage.py up` starts everything, `python manage.py help` lists the commands."),
    ],
)
def test_an_unknown_command_is_answered_in_one_line_with_another(name: str, instead: str) -> None:
    with pytest.raises(Fault) as fault:
        CommandLine(["manage.py", name]).execute()
    assert str(fault.value) == f"There is no command {name!r}. {instead}"


@pytest.mark.parametrize("name", ["up", "demo", "serve", "write"])
def test_a_command_without_arguments_says_how_to_set_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        CommandLine(["manage.py", name, "--port", "9000"]).execute()
    usage, error = capsys.readouterr().err.splitlines()
    assert usage.endswith(f"as in: PORT=8080 python manage.py {name}")
    assert error.endswith("unrecognized arguments: --port 9000")


@pytest.mark.parametrize("arguments", [["backtest"], ["key", "create"], ["key", "revoke"]])
def test_a_name_in_another_encoding_is_answered_in_a_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode("geschützt".encode("latin-1"))
    with pytest.raises(SystemExit):
        CommandLine(["manage.py", *arguments, name]).execute()
    assert capsys.readouterr().err.splitlines()[-1].endswith(": 'gesch\\udcfctzt' is not UTF-8")
