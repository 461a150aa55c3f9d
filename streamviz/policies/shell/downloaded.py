"""Files that a script downloads, decodes or unpacks, and whether it then runs them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from streamviz.policies.shell.code import STARTUP_OPTIONS, reads_input
from streamviz.policies.shell.commands import Command, operands
from streamviz.policies.shell.names import INTERPRETERS, SHELLS
from streamviz.policies.shell.paths import joined, normal
from streamviz.policies.shell.patterns import STARTED, has
from streamviz.policies.shell.remote_code import downloads_text, fetches_or_decodes, runs_input, sources_of_code
from streamviz.policies.shell.saved import (
    FETCHERS,
    beginnings,
    copies_from_elsewhere,
    decompressed,
    downloads,
    packs,
    unpacked_to,
    unpacks,
)
from streamviz.policies.shell.touched import written
from streamviz.policies.shell.wrappers import behind, joined_to

# What is decoded with these may be written to a file and run from there; people also mend scripts with `sed` or `tr`.
_HIDING = frozenset("base64 base32 basenc gbase64 xxd uudecode".split())
_COPIERS = frozenset("cp mv ln link install".split())
# What archives of programs have at their top.
_INSTALLS = re.compile(r"(?:.*/)?(?:setup|install|bootstrap)\b")
# Programs that install the packages, or run the scripts, that are their operands.
_INSTALLERS = frozenset("dpkg rpm apt apt-get dnf yum zypper apk pacman brew pip pip3 pipx npm crontab".split())
# Programs that run a file of code, and that are given none in any other way.
_LAUNCHERS = frozenset("zx go java mono elixir groovy scala swift".split())
# What a project keeps of its own, so that it is not what an archive left beside it.
_OWN = re.compile(r"(?:\.?venv|env|node_modules|vendor|scripts|target)/.+|(?:gradlew|mvnw)(?:\.bat|\.cmd)?")
_MAKEFILES = ("-f", "--file", "--makefile")
# Options of shells and interpreters whose value is neither a script nor run.
_VALUED = re.compile(r"-(?:[OWXI]|[a-zA-Z]*o)")
_LOADING = ("-r", "--require", "--import", *STARTUP_OPTIONS)


def runs_downloads(commands: Sequence[Command]) -> str:
    """What is wrong with commands that run one after another; empty if none runs what is downloaded or decoded."""
    found = _Found()
    for command in filter(_has_words, commands):
        if found.is_output_run_by(command):
            return "it runs what it downloads or decodes"
        if found.is_run_by(command):
            return "it runs what it has just downloaded"
        found.learn(command)
    return "it writes what it downloads or decodes to a file that is run later" if found.has_started else ""


class _Folders:
    """Some folders. Which of them a path is in is found in as many steps as their names have lengths."""

    def __init__(self) -> None:
        self._starts: set[str] = set()
        self._lengths: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._starts)

    def add(self, folders: Iterable[str]) -> None:
        starts = [f"{folder.rstrip('/')}/" if folder else "" for folder in folders]
        self._starts.update(starts)
        self._lengths.update(map(len, starts))

    def seen_from(self, path: str) -> Iterator[str]:
        """The path as seen from each of them that it is in."""
        is_relative = not path.startswith(("/", "~", ".."))
        for length in self._lengths:
            if path[:length] in self._starts and (length or is_relative):
                yield path[length:]


class _Found:
    """The files that were downloaded so far, how the names of some begin, and the folders that something downloaded was
    unpacked to: apart from everything else, or mixed with it in the folder in which the command ran."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._beginnings: set[str] = set()
        self._apart = _Folders()
        self._mixed = _Folders()
        # By id: commands whose output is downloaded or decoded, and those that read such a file, or others' output.
        self._fetching: set[int] = set()
        self._reading: set[int] = set()
        # Whether the script itself reads from one of these: `exec < f`.
        self._is_input = False

    @property
    def has_started(self) -> bool:
        """Whether one of them is run automatically."""
        return any(has(STARTED, file) for file in self._files)

    def is_output_run_by(self, command: Command) -> bool:
        if self._is_input and command.name in SHELLS | INTERPRETERS and reads_input(command):
            return True
        return any(self._is_foreign(each) for each in sources_of_code(command))

    def _is_foreign(self, command: Command) -> bool:
        return id(command) in self._fetching or id(command) in self._reading

    def is_run_by(self, command: Command) -> bool:
        if not (self._files or self._beginnings or self._apart or self._mixed):
            return False
        scripts = _run_by_path(command)
        inside = [each for path in _paths(command, scripts) for each in self._mixed.seen_from(path)]
        if not all(map(_OWN.fullmatch, inside)):
            return True
        if any(map(self._has, _paths(command, [*scripts, *_run_otherwise(command)]))):
            return True
        return self._has_program(command.words[0].text)

    def learn(self, command: Command) -> None:
        """Note what its output is, and what it saves. Commands whose output it uses come before it."""
        sources = set(map(id, command.sources))
        if fetches_or_decodes(command) or not self._fetching.isdisjoint(sources):
            self._fetching.add(id(command))
        if self._gives(command) or not self._reading.isdisjoint(sources):
            self._reading.add(id(command))
        if command.name == "exec" and not command.arguments and self._is_foreign(command):
            self._is_input = True
        self._learn_files(command)

    def _learn_files(self, command: Command) -> None:
        paths = _paths(command, operands(command.arguments))
        own = [path for path in paths if self._has(path)]
        if command.name in FETCHERS:
            self._files.update(_paths(command, downloads(command)))
        elif (command.name in _COPIERS and own) or copies_from_elsewhere(command):
            self._files.update(_copied(paths))
        elif own or self._comes_from_elsewhere(command):
            self._files.update(filter(None, (decompressed(command, path) for path in own)))
            self._keep_output(command)

    def _comes_from_elsewhere(self, command: Command) -> bool:
        is_fetched = downloads_text(command) or any(id(feed) in self._fetching for feed in command.flow.feeds)
        return is_fetched or command.name in _HIDING or id(command) in self._reading

    def _keep_output(self, command: Command) -> None:
        """Note what something downloaded is written or unpacked to."""
        self._files.update(map(normal, written(command)))
        if command.name == "split":
            self._beginnings.update(_paths(command, beginnings(command)))
        elif command.name == "sponge" or packs(command):
            self._files.update(_paths(command, operands(command.arguments)))
        elif unpacks(command):
            self._keep_unpacked(command)

    def _keep_unpacked(self, command: Command) -> None:
        """Note what it unpacks by name, which may be folders, and where."""
        here, to = normal(command.folder), _paths(command, unpacked_to(command))
        named = _paths(command, operands(command.arguments))
        self._files.update(named)
        self._apart.add({*named, *to} - {here})
        self._mixed.add([here] if here in to or not to else [])

    def _gives(self, command: Command) -> bool:
        """Whether a command reads such a file."""
        if command.name in FETCHERS:
            return False
        read = [*operands(command.arguments), *(word.text for word in command.flow.reads)]
        return any(map(self._has, _paths(command, read)))

    def _has(self, path: str) -> bool:
        if path in self._files or any(self._apart.seen_from(path)):
            return True
        if any(path.startswith(beginning) for beginning in self._beginnings):
            return True
        return any(mark in path for mark in "*?[") and any(fnmatchcase(file, path) for file in self._files)

    def _has_program(self, name: str) -> bool:
        """Whether a program by its bare name is one of these: in a folder for programs, or, with Windows, anywhere."""
        if "/" in name:
            return False
        return name in self._files or any(file.endswith((f"/bin/{name}", f"/sbin/{name}")) for file in self._files)


def _has_words(command: Command) -> bool:
    return bool(command.words)


def _copied(paths: Sequence[str]) -> Iterator[str]:
    """What copies may be called: the last path is a file, or the folder that they are in."""
    *sources, target = paths
    names = [re.split("[/:]", source)[-1] for source in sources]
    yield from [target, *(f"{target.rstrip('/')}/{name}" for name in names)] if target else names


def _paths(command: Command, texts: Iterable[str]) -> list[str]:
    return [normal(joined(command.folder, text)) for text in texts]


def _run_by_path(command: Command) -> list[str]:
    """The files that a command runs, as programs or scripts that may be at the top of an archive."""
    name, first = command.name, command.words[0].text
    run = [first] if "/" in first else []
    if name in SHELLS or name in (".", "source"):
        return run + _script(command)
    return run + [path for path in _script(command) if name in INTERPRETERS and _INSTALLS.match(path)]


def _run_otherwise(command: Command) -> list[str]:
    """Other files whose content runs, or is installed."""
    read = [word.text for word in command.flow.reads if reads_input(command) or runs_input(command)]
    if command.name in SHELLS | INTERPRETERS | _LAUNCHERS:
        return _script(command) + read
    if command.name == "make":  # its operands are what it makes
        return [*behind(command.arguments, _MAKEFILES), *joined_to(command.arguments, _MAKEFILES)]
    return read + (list(command.arguments) if command.name in _INSTALLERS else [])


def _script(command: Command) -> list[str]:
    """The first word that is neither an option nor its value, and what is loaded before."""
    words = list(command.arguments)
    pairs = zip(["", *words], words, strict=False)
    own = [word for before, word in pairs if not word.startswith("-") and not _VALUED.fullmatch(before)]
    # `run` may be a verb.
    return [*own[: 2 if own[:1] == ["run"] else 1], *behind(words, _LOADING)]
