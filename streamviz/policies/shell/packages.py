"""Packages that are installed or run from an address instead of a registry: whoever owns it runs code here."""

import re
from collections.abc import Iterator, Sequence

from streamviz.policies.shell.commands import Command
from streamviz.policies.shell.package_managers import (
    INSTALLS,
    RUNS,
    RUNS_AT_ONCE,
    RUNS_SCRIPTS,
    SCRIPTS,
    VALUED,
)
from streamviz.policies.shell.runners import RUNNERS, WRAPPERS

# Possibly behind the package's name: `left-pad@https://…`, `tool[all] @ git+ssh://…`.
_ADDRESS = re.compile(
    r"(?:@?[\w./-]+(?:\[[\w,.-]*\])?\s*@\s*)?"
    r"(?:(?:(?:git|hg|svn|bzr)\+)?(?:https?|ssh|git|ftp)://|git@[\w.-]+:|(?:github|gitlab|bitbucket|gist):)\S",
    re.IGNORECASE,
)
# A repository at GitHub, as npm and its kin abbreviate it.
_REPOSITORY = re.compile(r"\w[\w.-]*/[\w.-]+(?:#\S*)?")
_ABBREVIATING = frozenset({"npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"})
# Python's option for a module, behind its flags.
_MODULE = re.compile(r"-[bBdEiIOPqsSuvx]*m(.*)", re.DOTALL)
_VERSION = re.compile(r"[\d.]+\Z")


def runs_package_from_address(command: Command) -> bool:
    """Whether it installs or runs a package, or a script, from an address."""
    name, words = _manager(command)
    installing, running = INSTALLS.get(name, frozenset()), RUNS.get(name, frozenset())
    at = None if name in RUNS_AT_ONCE else _verb(name, words, installing | running | SCRIPTS)
    if at is None:
        # A script of the project is no repository.
        abbreviating = name if name in RUNS_AT_ONCE else ""
        runs = name in RUNS_AT_ONCE | RUNS_SCRIPTS
        return runs and any(_addresses(name, _first(words, WRAPPERS.get(name, ("", 0))[0]), abbreviating))
    if words[at] in installing:
        return any(_addresses(name, words, name))
    if words[at] not in running:
        return False
    abbreviating = name if words[at] != "run" else ""
    return any(_addresses(name, _first(words[at + 1 :], RUNNERS.get(name, ((), ""))[1]), abbreviating))


def _verb(name: str, words: Sequence[str], verbs: frozenset[str]) -> int | None:
    """Where the first of these verbs is that is not an option's value."""
    pairs = enumerate(zip(["", *words], words, strict=False))
    return next((at for at, (before, word) in pairs if word in verbs and before not in VALUED.get(name, ())), None)


def _manager(command: Command) -> tuple[str, list[str]]:
    """The package manager's name without its version, and its words; also of one that runs as a module of Python."""
    name, words = command.name, list(command.arguments)
    if name in ("python", "pypy"):
        modules = enumerate(map(_MODULE.fullmatch, _first(words, "-W -X")), 1)
        at, joined = next(((at, found[1]) for at, found in modules if found), (0, ""))
        if at:
            name, *words = [joined, *words[at:]] if joined else words[at:] or [""]
    return _VERSION.sub("", name.removesuffix(".cmd")), words


def _first(words: Sequence[str], valued: str) -> Sequence[str]:
    """The words up to the first that is not an option or its value, some of which are packages, too."""
    with_value, at = frozenset(valued.split()), 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in with_value else 1
    return words[: at + 1]


def _addresses(name: str, words: Sequence[str], abbreviating: str) -> Iterator[str]:
    """The addresses among the words; also repositories, if the program abbreviates them."""
    valued = VALUED.get(name, frozenset())
    for before, word in zip(["", *words], words, strict=False):
        option, _, value = word.partition("=") if word.startswith("--") else ("", "", word)
        is_repository = abbreviating in _ABBREVIATING and _REPOSITORY.fullmatch(value) and not option
        # `-pgithub:…` is joined to its option.
        is_address = is_repository or _ADDRESS.match(value) or (word.startswith("-") and _ADDRESS.match(value[2:]))
        if is_address and before not in valued and option not in valued:
            yield value
