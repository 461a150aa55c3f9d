"""What is dangerous in the commands that a script would run, by groups that an operator chooses from."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from streamviz.policies.shell import patterns
from streamviz.policies.shell.code import interpreted, reads_input, shell_text
from streamviz.policies.shell.commands import UNKNOWN, Command, operands, options
from streamviz.policies.shell.literals import quoted
from streamviz.policies.shell.names import AWKS, DECODERS, DOWNLOADERS, INTERPRETERS, READERS, SENDERS, SHELLS
from streamviz.policies.shell.paths import (
    is_core,
    is_device,
    is_system,
    is_vital,
    joined,
    may_be_key,
    may_delete,
    normal,
)
from streamviz.policies.shell.patterns import has
from streamviz.policies.shell.services import deletes_data
from streamviz.policies.shell.system import harms_system
from streamviz.policies.shell.touched import (
    FETCHERS,
    copied,
    downloads,
    is_all_unknown,
    is_outer,
    is_program,
    paths,
    written,
)
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
_METADATA = ("169.254.169.254", "metadata.google.internal", "100.100.100.200")
_GATHERED = frozenset({"env", "printenv", "history", "export", "set"})
_QUOTES = re.compile(r"['\"\\]|\$@|\$\*|\$\{?[1-9]\}?")
_BRACES = re.compile(r"[{},]")


class Choice(NamedTuple):
    """What an operator allows: globs of paths that may be deleted with all that is in them."""

    may_delete: tuple[str, ...]


def found_in(commands: Sequence[Command], groups: Iterable[str], choice: Choice) -> tuple[str, str] | None:
    """The first danger: its group and what it is, in words that quote nothing."""
    chosen = [(group, RULES[group]) for group in groups]
    for command in commands:
        for group, rule in chosen:
            if command.words and (what := rule(command, choice)):
                return group, what
    if "remote_code" in dict(chosen) and _runs_downloads(commands):
        return "remote_code", "it runs what it has just downloaded"
    return None


def found_in_text(text: str, groups: Iterable[str]) -> tuple[str, str] | None:
    """What the text says to shells of Windows, which is not parsed."""
    chosen = set(groups)
    for group, pattern in patterns.WINDOWS:
        if group in chosen and has(pattern, text):
            return group, "it is a command for Windows that destroys, or that runs what it downloads"
    return None


def is_risky(text: str) -> bool:
    """Whether a text that cannot be parsed may still be dangerous."""
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
    """A name that is not known may be anything: only what is worst is taken from it."""
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


# Code from elsewhere


def _remote_code(command: Command, choice: Choice) -> str:
    if any(has(patterns.SOCKETS, word.text) for word in (*command.words, *command.flow.reads, *command.flow.writes)):
        return "it opens a connection from the shell"
    if _is_remote_shell(command):
        return "it opens a shell to somebody else"
    if any(_comes_from_elsewhere(source) for source in _sources_of_code(command)):
        return "it runs what it downloads or decodes"
    if command.name in INTERPRETERS:
        return _program(interpreted(command))
    return ""


def _is_remote_shell(command: Command) -> bool:
    name, arguments = command.name, command.arguments
    if name in ("nc", "ncat", "netcat", "nc.traditional", "nc.openbsd"):
        runs = options(arguments) & {"e", "exec", "sh-exec", "lua-exec"} or (
            name == "ncat" and "c" in options(arguments)
        )
        return bool(runs) or any(feed.name in SHELLS for feed in command.flow.feeds)
    if name == "socat":
        return any(re.match(r"(?i)(?:exec|system|shell):", each) for each in arguments)
    return name in ("telnet", "openssl") and any(feed.name in SHELLS for feed in command.flow.feeds)


def _sources_of_code(command: Command) -> list[Command]:
    """The commands whose output this one runs as code."""
    name, words = command.name, command.words
    sources = list(words[0].sources)
    if name in SHELLS or name in INTERPRETERS:
        text = shell_text(command) if name in SHELLS else None
        sources += text.sources if text else ()
        if reads_input(command) or (text is not None and re.search(r"\{\}|\$[@*01-9]|\0", text.text)):
            sources += [*command.flow.feeds, *(each for word in command.flow.reads for each in word.sources)]
        if len(words) > 1 and words[1].text.startswith("/dev/fd/"):
            sources += words[1].sources
        if name in INTERPRETERS and any(each in ("-c", "-e") for each in command.arguments[:3]):
            sources += [each for word in words[1:4] for each in word.sources]
    elif name in ("eval", ".", "source"):
        sources += [each for word in words[1:] for each in word.sources]
        if "/dev/stdin" in command.arguments:
            sources += command.flow.feeds
    if name in AWKS and any(has(patterns.AWK_RUNS, code) for code in interpreted(command)):
        sources += command.flow.feeds
    return sources


def _comes_from_elsewhere(command: Command) -> bool:
    return any(each.name in DOWNLOADERS or _decodes(each) for each in (command, *command.origins))


def _decodes(command: Command) -> bool:
    return command.name in DECODERS and not (command.name in ("gzip", "sed", "perl") and not command.flow.feeds)


def _program(codes: Sequence[str]) -> str:
    for code in codes:
        if has(patterns.REMOTE_SHELL, code):
            return "it opens a shell to somebody else"
        if has(patterns.FOREIGN_CODE, code):
            return "it runs what it downloads or decodes"
    return ""


def _runs_downloads(commands: Sequence[Command]) -> bool:
    """Whether a file that was downloaded is run by a later command."""
    downloaded: set[str] = set()
    for command in commands:
        first = [word.text for word in command.words[:1]]
        if command.name in SHELLS | INTERPRETERS | {".", "source"}:
            first += operands(command.arguments)[:1]
            first += [word.text for word in command.flow.reads if reads_input(command)]
        if any(normal(path) in downloaded for path in first):
            return True
        if command.name in FETCHERS:
            downloaded |= {normal(path) for path in downloads(command)}
    return False


# Credentials


def _credentials(command: Command, choice: Choice) -> str:
    if command.name in READERS and any(map(_is_private, _read(command))):
        return "it reads private keys or credentials"
    if any(map(_is_private, paths(command, [word.text for word in command.flow.reads]))):
        return "it reads private keys or credentials"
    if command.name in DOWNLOADERS and any(host in each for each in command.arguments for host in _METADATA):
        return "it asks for the machine's credentials"
    if command.name == "security" and any(each.startswith(("find-", "dump-")) for each in command.arguments[:1]):
        return "it reads private keys or credentials"
    if command.name in INTERPRETERS and any(_is_private(each) for each in quoted("\n".join(interpreted(command)))):
        return "it reads private keys or credentials"
    is_sent = _sends(command) and any(map(_gathers, (command, *command.origins)))
    if is_sent:
        return "it sends credentials or environment variables elsewhere"
    if any("authorized_keys" in path for path in written(command)):
        return "it lets somebody sign in with a key"
    return ""


def _sends(command: Command) -> bool:
    return command.name in SENDERS and (command.name != "openssl" or "s_client" in command.arguments)


def _gathers(command: Command) -> bool:
    if command.name in _GATHERED and not (command.name in ("export", "set", "env") and command.arguments):
        return True
    is_reading = command.name in READERS or command.name in SENDERS
    return is_reading and any(_is_private(path) or has(patterns.PRIVATE_WHEN_SENT, path) for path in _read(command))


def _read(command: Command) -> list[str]:
    """The paths that a command reads; a key that it signs in with is not read by others."""
    arguments = command.arguments
    own = [
        each
        for at, each in enumerate(arguments)
        if not (at and arguments[at - 1] in ("-i", "--identity", "--key", "--cert", "-E"))
    ]
    own = [
        part
        for each in own
        for part in (each, each.rpartition("@")[2], each.rpartition("=")[2], each.rpartition("=@")[2])
    ]
    texts = [each for each in own if not each.startswith("-") or "/" in each]
    return [*paths(command, texts), *(word.text for word in command.flow.reads)]


def _is_private(path: str) -> bool:
    return any(has(patterns.PRIVATE, each) for each in (path, normal(path))) or may_be_key(path)


# What servers keep, and the machine itself


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
