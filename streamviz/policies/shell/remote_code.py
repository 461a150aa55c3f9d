"""Commands that run code from elsewhere, or that open a shell to somebody else."""

import re
from collections.abc import Sequence

from streamviz.policies.shell import patterns
from streamviz.policies.shell.code import STANDARD_INPUT, interpreted, reads_input, shell_text
from streamviz.policies.shell.commands import UNKNOWN, Command, operands, options
from streamviz.policies.shell.names import AWKS, DECODERS, DOWNLOADERS, FILTERS, INTERPRETERS, SHELLS
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.paths import normal
from streamviz.policies.shell.patterns import has
from streamviz.policies.shell.touched import FETCHERS, downloads, written

# Text that may contain a command with arguments, such as `rm -rf` or `rm$IFS-rf`.
_SCRIPT = re.compile(rf"[^\s{UNKNOWN}][\s$]+[^\s{UNKNOWN}]")


def runs_foreign_code(command: Command) -> str:
    """What is wrong with it; empty if nothing is."""
    if any(has(patterns.SOCKETS, word.text) for word in (*command.words, *command.flow.reads, *command.flow.writes)):
        return "it opens a connection from the shell"
    if _is_remote_shell(command):
        return "it opens a shell to somebody else"
    if any(_comes_from_elsewhere(source) for source in _sources_of_code(command)):
        return "it runs what it downloads or decodes"
    if command.name in INTERPRETERS:
        return _program(interpreted(command))
    return ""


def runs_downloads(commands: Sequence[Command]) -> bool:
    """Whether a later command runs a file that was downloaded."""
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
        elif any(_comes_from_elsewhere(feed) for feed in command.flow.feeds):
            downloaded |= {normal(path) for path in written(command)}
    return False


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
            sources += _sources_of_input(command)
        if len(words) > 1 and words[1].text.startswith("/dev/fd/"):
            sources += words[1].sources
        if name in INTERPRETERS and any(each in ("-c", "-e") for each in command.arguments[:3]):
            sources += [each for word in words[1:4] for each in word.sources]
    elif name in ("eval", ".", "source"):
        sources += [each for word in words[1:] for each in word.sources]
        if not STANDARD_INPUT.isdisjoint(command.arguments):
            sources += _sources_of_input(command)
    if name in AWKS and any(has(patterns.AWK_RUNS, code) for code in interpreted(command)):
        sources += command.flow.feeds
    return sources


def _sources_of_input(command: Command) -> list[Command]:
    return [*command.flow.feeds, *(each for word in command.flow.reads for each in word.sources)]


def _comes_from_elsewhere(command: Command) -> bool:
    return any(each.name in DOWNLOADERS or _decodes(each) for each in (command, *command.origins))


def _decodes(command: Command) -> bool:
    if command.name in FILTERS:
        return bool(_SCRIPT.search(input_of(command) or ""))
    return command.name in DECODERS and not (command.name in ("gzip", "sed", "perl") and not command.flow.feeds)


def _program(codes: Sequence[str]) -> str:
    for code in codes:
        if has(patterns.REMOTE_SHELL, code):
            return "it opens a shell to somebody else"
        if has(patterns.FOREIGN_CODE, code):
            return "it runs what it downloads or decodes"
    return ""
