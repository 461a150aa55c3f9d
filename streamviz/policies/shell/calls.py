"""The commands in tool calls, whatever the agents' tools are called and however they take them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamviz.core.json_value import JsonObject, as_text, value_in
from streamviz.core.model_names import fits_called
from streamviz.policies.spellings import plain

# Names of tools that run commands: those of Claude Code, Codex, Cursor, Gemini CLI, Cline, opencode, OpenHands, goose,
# Windsurf, Copilot and MCP servers. Case does not matter.
SHELL_TOOLS = (
    "bash", "bash_*", "shell", "*shell", "*shell_*", "local_shell*", "terminal", "*terminal*", "sh", "zsh", "cmd",
    "powershell", "pwsh", "exec", "exec_command", "unified_exec", "write_stdin", "container.exec", "*execute_command*",
    "*execute_bash*", "executebash", "executepwsh", "*run_command*", "*run_cmd*", "*runcommand*", "*run_in_bash*",
    "run_process", "start_process", "*ssh*exec*", "subprocess", "*system_command*", "*command_line*",
    "*run_script*", "*execute_script*", "runscript",
)  # fmt: skip
# Members that hold a command, whatever the tool is called; in lower case, without underscores.
_COMMANDS = frozenset(
    {"command", "commands", "cmd", "cmds", "commandline", "shellcommand", "bashcommand", "cmdline", "shell", "bash"}
)
# Those in which each item of a list is a command of its own.
_SEVERAL = frozenset({"commands", "cmds"})
_PROGRAMS = _COMMANDS | {"program", "executable", "exe", "file", "binary"}
_ARGUMENTS = frozenset({"args", "argv", "arguments", "argument", "parameters", "params"})
_LANGUAGES = frozenset({"language", "lang", "interpreter", "runtime"})
_CODE = frozenset({"code", "script", "source", "sourcecode"})
_INTERPRETERS = {"javascript": "node", "js": "node", "typescript": "node", "py": "python", "shell": "sh"}
# Words of a command that may themselves be commands: they contain something that separates words or commands.
# Braces are searched for once per word: starting again at each of them would take quadratic time.
_PARTED = re.compile(r"[\s;|&<>]|\$\{?IFS|\A[^{]*\{[^,]*,[^}]*\}")
_FOLDERS = frozenset({"cwd", "workdir", "workingdirectory", "workingdir", "directory", "dirpath"})
# What a tool that runs commands takes in addition to them.
_BESIDE = frozenset(
    {"description", "explanation", "reason", "justification", "title", "summary", "sessionid", "id", "type", "env"}
    | {"securityrisk", "thought", "shelltype", "name", "status", "callid", "language", "comment"} | _FOLDERS
)  # fmt: skip


Step = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Commands that one shell would run one after another, and the folder they run in.

    Each is text for a shell, or the words of one program.
    """

    steps: tuple[Step, ...]
    folder: str = ""

    @property
    def text(self) -> str:
        """All of them, one per line."""
        return "\n".join(step if isinstance(step, str) else " ".join(step) for step in self.steps)


def is_shell(name: str, globs: Sequence[str]) -> bool:
    """Whether a tool of this name runs commands."""
    return any(fits_called(name, glob) for glob in globs)


def lines_in(value: JsonObject, *, of_shell: bool) -> list[Line]:
    """The commands in a call's arguments; in a tool that runs commands they may be anywhere."""
    objects = list(_objects(value))
    members = [member for own in objects for member in own]
    # A tool uses one name for its folder, so a member with another of these names need not be where it runs.
    folders = dict.fromkeys(as_text(item) for key, item in members if key in _FOLDERS and isinstance(item, str))
    steps = [steps for own in objects for steps in (*_with_arguments(own), *_in_language(own))]
    # If a tool that runs commands has only members that usually go with them, the commands are in those.
    beside = _BESIDE if any(key not in _BESIDE for key, _ in members) else frozenset[str]()
    for key, item in members:
        if key in _COMMANDS or (of_shell and key not in beside):
            steps += _read(item, are_several=key in _SEVERAL)
    return [Line(each, folder) for each in dict.fromkeys(steps) for folder in folders or ("",)]


_Members = list[tuple[str, object]]


def _objects(value: object) -> Iterator[_Members]:
    """The members of every object in it, including objects written as JSON in a string."""
    level = [value]
    while level:
        item = level.pop()
        if isinstance(item, dict):
            yield [(plain(str(key)), member) for key, member in item.items()]
            level += item.values()
        elif isinstance(item, list):
            level += item
        elif isinstance(item, str) and item.lstrip()[:1] in ("{", "["):
            level.append(value_in(item))


def _with_arguments(members: _Members) -> Iterator[tuple[Step, ...]]:
    """A program in one member and its arguments in another."""
    programs = [item for key, item in members if key in _PROGRAMS and isinstance(item, str) and item]
    for key, item in members:
        if key in _ARGUMENTS and isinstance(item, str):
            yield from ((f"{program} {item}",) for program in programs)
        elif key in _ARGUMENTS and isinstance(item, list):
            yield from (((*program.split(), *_texts(item)),) for program in programs)


def _in_language(members: _Members) -> Iterator[tuple[Step, ...]]:
    """Code, with the name of its language in another member."""
    for key, item in members:
        if key in _LANGUAGES and isinstance(item, str):
            name = _INTERPRETERS.get(item.lower(), item.lower())
            yield from (((name, "-c", code),) for each, code in members if each in _CODE and isinstance(code, str))


def _read(value: object, *, are_several: bool) -> Iterator[tuple[Step, ...]]:
    """A list may be the words of one command, or one command per item."""
    if isinstance(value, str):
        yield (value,)
    elif isinstance(value, list):
        yield (tuple(_texts(value)),)
        yield tuple(_steps(value, are_several=are_several))


def _steps(items: Sequence[object], *, are_several: bool) -> Iterator[Step]:
    for item in items:
        if isinstance(item, str) and (are_several or len(items) == 1 or _PARTED.search(item)):
            yield item
        elif isinstance(item, list):
            yield tuple(_texts(item))
            yield from _steps(item, are_several=False)
        elif isinstance(item, dict):
            yield from (as_text(each) for key, each in item.items() if plain(str(key)) in _COMMANDS)


def _texts(items: Sequence[object]) -> list[str]:
    return [item for item in items if isinstance(item, str)]
