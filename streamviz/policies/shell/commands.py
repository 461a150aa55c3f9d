"""The commands that a script would run, with what is known of their words, their input and their output files."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

# Stands in a word for text that is unknown until the script runs.
UNKNOWN = "\0"
# What `<(…)` and `>(…)` expand to.
INPUT_FILE, OUTPUT_FILE = f"/dev/fd/{UNKNOWN}", f"/dev/fd/{UNKNOWN}>"


@dataclass(frozen=True, slots=True)
class Flow:
    """What a command reads and writes: `feeds` are the commands whose output is its input, `given` is literal input,
    `reads` and `writes` are files."""

    feeds: "tuple[Command, ...]" = ()
    given: tuple[str, ...] = ()
    reads: "tuple[Word, ...]" = ()
    writes: "tuple[Word, ...]" = ()

    def fed_by(self, command: "Command") -> "Flow":
        """The same with one more command whose output is read."""
        return Flow((command, *self.feeds), self.given, self.reads, self.writes)


class Word(NamedTuple):
    """A word after expansion; `sources` are the commands whose output is in it."""

    text: str
    sources: "tuple[Command, ...]" = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words, and the folder it runs in, empty for the project's own. `said` is its output, None if
    that is unknown."""

    words: tuple[Word, ...]
    flow: Flow = field(default_factory=Flow)
    folder: str = ""
    said: str | None = None

    @property
    def name(self) -> str:
        """The program's own name, without its path, in lower case."""
        return program(self.words[0].text) if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words[1:])

    @property
    def origins(self) -> "Iterator[Command]":
        """Every command whose output this one reads or has in its words."""
        level = list(self.sources)
        seen: set[int] = set()
        while level:
            command = level.pop()
            if id(command) not in seen:
                seen.add(id(command))
                yield command
                level += (each for each in command.sources if id(each) not in seen)

    @property
    def sources(self) -> "Iterable[Command]":
        """The commands whose output this one itself reads or has in its words."""
        return chain(self.flow.feeds, *(word.sources for word in (*self.words, *self.flow.reads)))


# Several versions of these are often installed side by side.
_VERSION = re.compile(r"(python|pypy|perl|ruby|node|php|lua|tclsh|bash|ksh)-?[\d.]+")


def program(path: str) -> str:
    """`/bin/RM.exe` is `rm`, because some systems ignore case; `python3.11` is `python`; zsh's `=rm` is the path of
    `rm`."""
    name = path.removeprefix("=").rstrip("/").replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    versioned = _VERSION.fullmatch(name)
    return versioned[1] if versioned else name


_BEHIND_UNKNOWN = re.compile(rf"{UNKNOWN}+(-[rRfdv]{{1,5}}|--[a-z-]+)\Z")


def options(arguments: tuple[str, ...]) -> set[str]:
    """Letters of short options, and long options by name, up to `--`: `-rf --no-x=1` gives r, f, no-x. In `$x-rf` the
    unknown text may be empty; `$x-report` is a name."""
    found: set[str] = set()
    for argument in (_BEHIND_UNKNOWN.sub(r"\1", each) for each in arguments):
        if argument == "--":
            break
        if argument.startswith("--"):
            found.add(argument[2:].partition("=")[0])
        elif argument.startswith("-"):
            found.update(argument[1:])
    return found


def operands(arguments: tuple[str, ...]) -> list[str]:
    """The arguments that are not options."""
    if "--" in arguments:
        at = arguments.index("--")
        return [each for each in arguments[:at] if not each.startswith("-")] + list(arguments[at + 1 :])
    return [each for each in arguments if not each.startswith("-")]
