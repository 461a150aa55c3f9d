"""Commands that run code from elsewhere, or that open a shell to somebody else."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from streamviz.policies.shell import patterns
from streamviz.policies.shell.code import STANDARD_INPUT, STARTUP_OPTIONS, interpreted, reads_input, shell_text
from streamviz.policies.shell.commands import UNKNOWN, Command, Word, operands, options, program
from streamviz.policies.shell.names import AWKS, DECODERS, DOWNLOADERS, FILTERS, INTERPRETERS, SHELLS
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.packages import runs_package_from_address
from streamviz.policies.shell.patterns import has
from streamviz.policies.shell.wrappers import behind, behind_options

# Programs that give a shell in a container their input, and verbs of programs with which they download.
_CONTAINERS = frozenset("docker podman nerdctl kubectl oc lxc incus".split())
_DOWNLOADING = {"gh": (("api",), ("gist",)), "aws": (("s3",), ("s3api",)), "rclone": (("cat",),)}
_FEW = 3
# Whether a server on the machine itself is up is often asked so.
_OWN_PORTS = re.compile(r"/dev/tcp/(?:localhost|127\.0\.0\.1)/")
_TAKES_CODE = re.compile(r"(?:-[a-zA-Z]*[cerE]|--eval|--print|-p|eval)(?:\W|\Z)")
# Text that may contain a command with arguments, such as `rm -rf` or `rm$IFS-rf`.
_SCRIPT = re.compile(rf"[^\s{UNKNOWN}][\s$]+[^\s{UNKNOWN}]")


def runs_foreign_code(command: Command) -> str:
    """What is wrong with it; empty if nothing is."""
    words = (*command.words, *command.flow.reads, *command.flow.writes)
    if any(has(patterns.SOCKETS, _OWN_PORTS.sub("", word.text)) for word in words):
        return "it opens a connection from the shell"
    if _is_remote_shell(command):
        return "it opens a shell to somebody else"
    if runs_package_from_address(command):
        return "it runs a package from an address"
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


def sources_of_code(command: Command) -> list[Command]:
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
        sources += [each for word in _code_words(command) for each in word.sources]
    elif name in ("eval", ".", "source", "trap", "alias"):
        sources += [each for word in words[1:] for each in word.sources]
        if not STANDARD_INPUT.isdisjoint(command.arguments):
            sources += _sources_of_input(command)
    elif runs_input(command):
        sources += _sources_of_input(command)
    runs = patterns.AWK_RUNS if name in AWKS else patterns.RUNS_TEXT
    if name in INTERPRETERS and any(has(runs, code) for code in interpreted(command)):
        sources += command.flow.feeds
    return sources


def _code_words(command: Command) -> Iterator[Word]:
    """The words that are code, or name a file of it, behind options of a shell or an interpreter."""
    words = command.words
    if command.name in AWKS:
        yield from [word for word in words[1:] if not word.text.startswith("-")][:1]
    for at, word in enumerate(words[1:6], 1):
        if word.text in STARTUP_OPTIONS or (command.name in INTERPRETERS and _TAKES_CODE.match(word.text)):
            yield from words[at : at + 2]


def runs_input(command: Command) -> bool:
    """Whether a program that is no shell itself gives its input to one."""
    name, arguments = command.name, command.arguments
    rest = behind_options(name, list(command.words[1:]))
    if name == "ssh" and len(rest) == 1:
        return True
    if name in ("ssh", *_CONTAINERS):
        within = (at for at, word in enumerate(rest) if at and program(word.text) in SHELLS | INTERPRETERS)
        return any(reads_input(Command(tuple(rest[at:]))) for at in islice(within, _FEW))
    if name == "make":
        return any(file in STANDARD_INPUT | {"-"} for file in behind(arguments, ("-f", "--file", "--makefile")))
    if name in ("powershell", "pwsh"):
        return not operands(arguments)
    if name in ("sudo", "doas"):
        return not rest and bool(options(arguments) & {"i", "s", "login", "shell"})
    if name in ("su", "parallel"):
        return len(operands(arguments)) <= (name == "su") and not options(arguments) & {"c", "command"}
    return name in ("at", "batch") or (name == "crontab" and "-" in arguments)


def _sources_of_input(command: Command) -> list[Command]:
    return [*command.flow.feeds, *(each for word in command.flow.reads for each in word.sources)]


def fetches_or_decodes(command: Command) -> bool:
    """Whether its output is downloaded or decoded by the command itself."""
    return downloads_text(command) or _decodes(command)


def downloads_text(command: Command) -> bool:
    """Whether its output is downloaded by the command itself."""
    if command.name in INTERPRETERS and any(has(patterns.FETCHES, code) for code in interpreted(command)):
        return True
    return command.name in DOWNLOADERS or command.arguments[:1] in _DOWNLOADING.get(command.name, ())


def _decodes(command: Command) -> bool:
    if command.name in FILTERS:
        return bool(_SCRIPT.search(input_of(command) or ""))
    return command.name in DECODERS and not (command.name in ("gzip", "sed", "perl") and not command.flow.feeds)


def _program(codes: Sequence[str]) -> str:
    for code in codes:
        if has(patterns.REMOTE_SHELL, code):
            return "it opens a shell to somebody else"
        if has(patterns.FOREIGN_CODE, code) or (has(patterns.FETCHES, code) and has(patterns.RUNS_TEXT, code)):
            return "it runs what it downloads or decodes"
    return ""
