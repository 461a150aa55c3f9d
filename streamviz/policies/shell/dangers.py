"""What is dangerous in the commands that a script would run, in groups that an operator can choose."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from streamviz.policies.shell import patterns
from streamviz.policies.shell.code import interpreted
from streamviz.policies.shell.commands import UNKNOWN, Command, operands, options
from streamviz.policies.shell.credentials import gives_credentials_away
from streamviz.policies.shell.deletable_paths import may_delete
from streamviz.policies.shell.downloaded import runs_downloads
from streamviz.policies.shell.names import INTERPRETERS
from streamviz.policies.shell.paths import is_vital, joined, normal
from streamviz.policies.shell.patterns import has
from streamviz.policies.shell.protected_paths import is_core, is_device, is_system
from streamviz.policies.shell.remote_code import runs_foreign_code
from streamviz.policies.shell.services import deletes_data
from streamviz.policies.shell.system import harms_system
from streamviz.policies.shell.touched import copied, is_all_unknown, is_outer, is_program, paths, written
from streamviz.policies.shell.wrappers import found_by

_MAKES_FILE_SYSTEMS = ("mkfs*", "mke2fs", "mkswap", "newfs*", "wipefs", "blkdiscard", "format")
_PARTITIONS = frozenset("fdisk sfdisk cfdisk gdisk sgdisk parted".split())
_VOLUMES = {
    "cryptsetup": {"luksformat", "erase", "luksErase", "luksFormat"},
    "diskutil": {"erasedisk", "erasevolume", "eraseDisk", "eraseVolume", "partitionDisk", "zeroDisk", "secureErase"},
    "zpool": {"destroy", "labelclear"},
    "mdadm": {"--zero-superblock"},
    "hdparm": {"--security-erase", "--security-erase-enhanced"},
    "nvme": {"format", "sanitize"},
}
_QUOTES = re.compile(r"['\"\\]|\$@|\$\*|\$\{?[1-9]\}?")
_BRACES = re.compile(r"[{},]")
# PowerShell within its texts: `"$($_.Name)"`, `"$(Get-Date)"`.
_POWERSHELL = re.compile(r"\$(?=\([\s(]*(?:\$_\.|[A-Z][a-z]+-[A-Z]))")


class Choice(NamedTuple):
    """What an operator allows: globs of paths that may be deleted recursively."""

    may_delete: tuple[str, ...]


def found_in(commands: Sequence[Command], groups: Iterable[str], choice: Choice) -> tuple[str, str] | None:
    """The first danger: its group, and a description that quotes nothing."""
    chosen = [(group, RULES[group]) for group in groups]
    for command in commands:
        for group, rule in chosen:
            if command.words and (what := rule(command, choice)):
                return group, what
    what = runs_downloads(commands) if "remote_code" in dict(chosen) else ""
    return ("remote_code", what) if what else None


def found_in_text(text: str, groups: Iterable[str]) -> tuple[str, str] | None:
    """What the text tells Windows shells, whose commands are not parsed."""
    chosen = set(groups)
    for group, pattern in patterns.WINDOWS:
        if group in chosen and has(pattern, text):
            return group, "it is a command for Windows that destroys, or that runs what it downloads"
    return None


def is_risky(text: str) -> bool:
    """Whether a text that cannot be parsed may still be dangerous."""
    text = _POWERSHELL.sub("", text)
    return any(has(patterns.RISKY, each) for each in (text, _QUOTES.sub("", text), _BRACES.sub(" ", text)))


# Deleting


def _deletes(command: Command, choice: Choice) -> str:
    if is_all_unknown(command) or is_program(command, "rm", "unlink", "rimraf", "del-cli"):
        return _removes(command, choice)
    if command.name == "find" and "-delete" in command.arguments:
        return _finds_and_deletes(command, choice)
    if is_program(command, "shred", "srm", "wipe"):
        targets = paths(command, operands(command.arguments))
        return _WHAT_WIPES if any(is_vital(path) or is_system(path) for path in targets) else ""
    if command.name == "rsync" and any(each.startswith("--delete") for each in command.arguments):
        where = paths(command, operands(command.arguments)[-1:])
        return _WHAT_WIPES if any(map(is_outer, where)) else ""
    if command.name == "mv" and any(is_outer(path) for path in paths(command, operands(command.arguments)[:-1])):
        return "it moves a home folder or the root folder away"
    if command.name in INTERPRETERS and any(has(patterns.WIPES, code) for code in interpreted(command)):
        return _WHAT_WIPES
    return ""


_WHAT_WIPES = "it deletes what the system or its users cannot do without"


def _removes(command: Command, choice: Choice) -> str:
    """If the name of the program is unknown, only the worst is denied."""
    chosen, targets = options(command.arguments), paths(command, operands(command.arguments))
    is_recursive = bool(chosen & {"r", "R", "recursive", UNKNOWN}) or command.name in ("rimraf", "del-cli")
    if "no-preserve-root" in chosen:
        return _WHAT_WIPES
    if is_all_unknown(command):
        return _WHAT_WIPES if is_recursive and any(is_outer(path) for path in targets) else ""
    if any(is_vital(path) for path in targets if is_recursive or path != UNKNOWN) or any(map(is_core, targets)):
        return _WHAT_WIPES
    if is_recursive and not all(may_delete(path, choice.may_delete) for path in targets):
        return "it deletes a folder that is not in may_delete"
    return ""


def _finds_and_deletes(command: Command, choice: Choice) -> str:
    for path, is_named in found_by(command):
        path = joined(command.folder, path)
        root = path.rpartition("/")[0] or "/" if is_named else path
        if (is_vital(root) or is_system(root)) and root.startswith("/") and not root.startswith(("/var/", "/tmp")):  # noqa: S108
            return _WHAT_WIPES
        is_narrow = is_named or any(
            each in command.arguments for each in ("-empty", "-mtime", "-mmin", "-newer", "-size")
        )
        if not is_narrow and not may_delete(path, choice.may_delete):
            return "it deletes a folder that is not in may_delete"
    return ""


# Disks


def _disks(command: Command, choice: Choice) -> str:
    name, arguments = command.name, command.arguments
    if name == "dd" and any(normal(path).startswith("/dev/") for path in copied(command)):
        return "it copies from or to a device"
    if any(is_program(command, glob) for glob in _MAKES_FILE_SYSTEMS) and operands(arguments) and name != "format":
        return "it formats a disk or wipes a file system"
    if name in _PARTITIONS and not set(arguments) & {"-l", "--list", "print", "-p", "--print", "-s", "-d"}:
        return "it changes partitions"
    if set(arguments) & _VOLUMES.get(name, set()):
        return "it wipes a disk"
    if any(is_device(path) for path in written(command)):
        return "it writes to a device"
    return ""


# The groups that have modules of their own: remote code, credentials, servers' data, the machine itself


def _remote_code(command: Command, choice: Choice) -> str:
    return runs_foreign_code(command)


def _credentials(command: Command, choice: Choice) -> str:
    return gives_credentials_away(command)


def _data(command: Command, choice: Choice) -> str:
    return deletes_data(command)


def _system(command: Command, choice: Choice) -> str:
    return harms_system(command)


# Force


def _force_push(command: Command, choice: Choice) -> str:
    rest = operands(command.arguments)
    if command.name != "git" or "push" not in rest[:3]:
        return ""
    chosen = options(command.arguments)
    is_forced = (
        "force" in chosen
        or "mirror" in chosen
        or "f" in {letter for each in command.arguments if re.fullmatch(r"-\w+", each) for letter in each[1:]}
    )
    if is_forced or any(each.startswith("+") for each in rest):
        return "it overwrites what others have pushed"
    is_deleting = bool(chosen & {"delete", "d", "prune"}) or any(each.startswith(":") for each in rest)
    return "it deletes what others have pushed" if is_deleting else ""


Rule = Callable[[Command, Choice], str]
RULES: Mapping[str, Rule] = {
    "deletes": _deletes,
    "disks": _disks,
    "system": _system,
    "remote_code": _remote_code,
    "credentials": _credentials,
    "data": _data,
    "force_push": _force_push,
}
