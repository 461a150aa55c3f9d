"""Packages that are installed or run from an address instead of a registry: whoever owns it runs code here."""

import re
from collections.abc import Iterator, Sequence

from streamviz.policies.shell.commands import Command
from streamviz.policies.shell.package_managers import (
    FOLDERS,
    INSTALLS,
    OF_PIP,
    REGISTRIES,
    RUNS,
    RUNS_AT_ONCE,
    SCRIPTS,
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
_VERSION = re.compile(r"[\d.]+\Z")


def runs_package_from_address(command: Command) -> bool:
    """Whether it installs or runs a package, or a script, from an address."""
    name, words = _manager(command)
    installing, running = INSTALLS.get(name, frozenset()), RUNS.get(name, frozenset())
    at = next((n for n, word in enumerate(words) if word in installing | running | SCRIPTS), None)
    if at is None:
        return name in RUNS_AT_ONCE and any(_addresses(name, _first(words, WRAPPERS.get(name, ("", 0))[0])))
    if words[at] in installing:
        return any(_addresses(name, words))
    if words[at] not in running:
        return False
    # A script of the project is no repository.
    abbreviating = name if words[at] != "run" else ""
    return any(_addresses(abbreviating, _first(words[at + 1 :], RUNNERS.get(name, ((), ""))[1])))


def _manager(command: Command) -> tuple[str, list[str]]:
    """The package manager's name without its version, and its words; also of one that runs as a module of Python."""
    name, words = command.name, list(command.arguments)
    at = next((n for n, word in enumerate(words[:5]) if word.startswith("-m")), None)
    if name in ("python", "pypy") and at is not None:
        joined = words[at].removeprefix("-m")
        name, *words = [joined, *words[at + 1 :]] if joined else words[at + 1 :] or [""]
    return _VERSION.sub("", name.removesuffix(".cmd")), words


def _first(words: Sequence[str], valued: str) -> Sequence[str]:
    """The words up to the first that is not an option or its value, some of which are packages, too."""
    with_value, at = frozenset(valued.split()), 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in with_value else 1
    return words[: at + 1]


def _addresses(name: str, words: Sequence[str]) -> Iterator[str]:
    unread = REGISTRIES | (OF_PIP if name in ("pip", "uv") else frozenset())
    for before, word in zip(["", *words], words, strict=False):
        option, _, value = word.partition("=") if word.startswith("--") else ("", "", word)
        is_repository = name in _ABBREVIATING and _REPOSITORY.fullmatch(value) and before not in FOLDERS and not option
        # `-pgithub:…` is joined to its option.
        is_address = is_repository or _ADDRESS.match(value) or (word.startswith("-") and _ADDRESS.match(value[2:]))
        if is_address and before not in unread and option not in unread:
            yield value
