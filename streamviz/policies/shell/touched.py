"""Which program a command runs, and which paths it touches."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from streamviz.policies.shell.commands import UNKNOWN, Command, operands, program
from streamviz.policies.shell.paths import is_vital, joined
from streamviz.policies.shell.saved import FETCHERS, downloads
from streamviz.policies.shell.wrappers import behind

_WRITES_TO_LAST = frozenset("cp mv ln install rsync scp".split())


def is_program(command: Command, *globs: str) -> bool:
    """Whether the program is one of these, even if part of its name is unknown."""
    name = command.name.replace(UNKNOWN, "*")
    if any(mark in name for mark in "*?["):
        return not is_all_unknown(command) and any(fnmatchcase(glob, name) for glob in globs)
    return any(fnmatchcase(name, glob) for glob in globs)


def is_all_unknown(command: Command) -> bool:
    """Whether nothing is known of the program's name."""
    return command.name.strip("*?" + UNKNOWN) == ""


def paths(command: Command, texts: Iterable[str]) -> list[str]:
    """The paths, as seen from the folder that the command runs in."""
    return [joined(command.folder, text) for text in texts]


def written(command: Command) -> list[str]:
    """The paths that a command writes to."""
    found = [word.text for word in command.flow.writes]
    rest = operands(command.arguments)
    if command.name == "tee":
        found += rest
    elif command.name in _WRITES_TO_LAST:
        found += [*rest[-1:], *behind(command.arguments, ("-t", "--target-directory"))]
    elif command.name == "dd":
        return copied(command) + paths(command, found)
    elif command.name in FETCHERS:
        found += downloads(command)
    elif program(command.name) == "sed" and any(each.startswith(("-i", "--in-place")) for each in command.arguments):
        found += rest[1:]
    elif command.name == "truncate":
        found += rest
    return paths(command, found)


def is_outer(path: str) -> bool:
    """Whether it is vital wherever the command runs."""
    return path.startswith(("/", "~", "..")) and is_vital(path)


def copied(command: Command) -> list[str]:
    """The paths that `dd` reads and writes."""
    named = [each.partition("=") for each in command.arguments if each.startswith(("if=", "of="))]
    return paths(command, [path for side, _, path in named if (side, path) != ("of", "/dev/null")])
