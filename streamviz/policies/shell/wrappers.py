"""Commands that other commands run, given as words: after `sudo`, or to `xargs` and `find -exec`."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from streamviz.policies.shell.commands import UNKNOWN, Command, Word, program
from streamviz.policies.shell.databases import DATABASES
from streamviz.policies.shell.names import INTERPRETERS, SHELLS
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.runners import REMOTE, RUNNERS, WRAPPERS

# bash exports functions under names such as `BASH_FUNC_ls%%`.
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:%%)?=")
_SHELL_CODE = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*\Z")
_FD_EXEC = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_MOST_FILLED = 5
# Programs that take their arguments as data: none of them is a command.
PLAIN = frozenset(
    "echo printf git grep egrep fgrep rg ag ack sed man which type whatis apropos help test [ cat ls cp mv touch mkdir"
    " npm pnpm yarn pip pip3 uv apt apt-get brew cargo go make cd export set less head tail diff jq ln sort wc rm dd"
    " chmod chown shred find code vim nano gh read".split()
)
NOTABLE = frozenset("rm dd chmod chown shred find".split())
# Wrappers that set a folder or variables for their command, with their options for the folder.
SETTERS = {"env": ("-C", "--chdir"), "sudo": ("-D", "--chdir"), "doas": ()}


def settings_of(command: Command) -> list[Word]:
    """A setter's own words, before the command that it runs."""
    words = list(command.words[1:])
    return words[: len(words) - len(behind_options(command.name, words))]


def folder_in(name: str, settings: Sequence[Word]) -> str:
    """The folder among a setter's own words; empty if there is none."""
    names, texts = SETTERS[name], [word.text for word in settings]
    return next(chain(behind(texts, names), joined_to(texts, names)), "")


def wrapped(command: Command) -> Iterator[Sequence[Word]]:
    """The commands that this one runs, given among its words."""
    if not command.words:
        return
    name, rest = command.name, list(command.words[1:])
    if name in ("xargs", "parallel"):
        if words := behind_options(name, rest):
            yield from _with_input(words, command)
    elif name in WRAPPERS:
        yield behind_options(name, rest)
    elif name in RUNNERS:
        yield _run_by(name, rest)
    elif name == "find":
        yield from _found(rest)
    elif name == "git":
        yield from _run_by_git(rest)
    elif name in ("fd", "fdfind"):
        yield from _found_by_fd(rest)
    elif name not in PLAIN | SHELLS | INTERPRETERS:
        yield from _among(rest)


_GIT_RUNS = (("bisect", "run"), ("submodule", "foreach"))


def _run_by_git(words: list[Word]) -> Iterator[list[Word]]:
    for at in range(len(words) - 1):
        if (words[at].text, words[at + 1].text) in _GIT_RUNS:
            yield _past(words[at + 2 :], frozenset())


def _run_by(name: str, words: list[Word]) -> list[Word]:
    verbs, valued = RUNNERS[name]
    at = next((n for n, word in enumerate(words) if word.text in verbs), len(words))
    return _past(words[at + 1 :], frozenset(valued.split()))


def _past(words: list[Word], valued: frozenset[str]) -> list[Word]:
    """The words after the leading options, some of which take a value."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in valued else 1
    return words[at:]


def behind_options(name: str, words: list[Word]) -> list[Word]:
    """The words after a wrapper's options and its own words."""
    valued, own = WRAPPERS.get(name) or (REMOTE.get(name, ""), 0)
    with_value = frozenset(valued.split())
    at = 0
    while at < len(words):
        text = words[at].text
        if text.startswith("-") and text != "-":
            at += 2 if text in with_value else 1
        elif name in ("env", "sudo", "doas") and _ASSIGNMENT.match(text):
            at += 1
        elif own:
            own, at = own - 1, at + 1
        else:
            break
    return words[at:]


def _with_input(words: list[Word], command: Command) -> Iterator[list[Word]]:
    """`xargs` adds what it reads to the end of the command, or puts it in place of a mark."""
    items = [Word(text) for text in _items(command)] or [Word(UNKNOWN, tuple(command.flow.feeds))]
    mark = _mark_of(command)
    if any(mark in word.text for word in words):
        for item in items[:_MOST_FILLED]:
            yield [_filled(word, mark, item) if mark in word.text else word for word in words]
    else:
        yield [*words, *items]


def _mark_of(command: Command) -> str:
    """What `xargs` or `parallel` puts its input in place of."""
    options = ("-I", "--replace")
    marks = [*behind(command.arguments, options), *joined_to(command.arguments, options)]
    return next(filter(None, marks), "{}")


def _filled(word: Word, mark: str, item: Word) -> Word:
    return Word(word.text.replace(mark, item.text), word.sources + item.sources)


def _items(command: Command) -> list[str]:
    for feed in reversed(command.flow.feeds):
        if feed.name == "find":
            return [target for target, _ in found_by(feed)]
    said = input_of(command)
    return said.split()[:100] if said else []


def found_by(command: Command) -> list[tuple[str, bool]]:
    """What a `find` finds: a path for each of its starting points, and whether the path is specified by name."""
    arguments = command.arguments
    roots = []
    for each in arguments:
        if each.startswith(("-", "(", "!")):
            break
        roots.append(each)
    own = [each for at, each in enumerate(arguments) if at == 0 or arguments[at - 1] not in ("!", "-not")]
    names = list(behind(own, ("-name", "-iname", "-path", "-ipath", "-wholename", "-regex")))
    name = names[0].lstrip("./*") if names and "/" in names[0] else names[0] if names else ""
    is_named = bool(name.strip("*?.[]"))
    return [(f"{root.rstrip('/') or '/'}/{name}" if is_named else root, is_named) for root in roots or ["."]]


def _found(words: list[Word]) -> Iterator[list[Word]]:
    """Each command of `find -exec`, with what is found in place of `{}`."""
    found = found_by(Command((Word("find"), *words)))
    for at, word in enumerate(words):
        if word.text in _EXEC:
            rest = words[at + 1 :]
            end = next((n for n, each in enumerate(rest) if each.text in (";", "+", "\\;")), len(rest))
            for target, _ in found[:5]:
                yield [Word(each.text.replace("{}", target), each.sources) for each in rest[:end]]


def _found_by_fd(words: list[Word]) -> Iterator[list[Word]]:
    """`fd pattern folder -x command`."""
    at = next((n for n, word in enumerate(words) if word.text in _FD_EXEC), None)
    if at is not None:
        own = [word.text for word in words[:at]]
        pattern, *folders = [each for each in own if not each.startswith("-")] or [""]
        some = "" if pattern in ("", ".") and not {"-e", "--extension"} & set(own) else "/found"
        yield [*words[at + 1 :], *(Word(f"{folder}{some}") for folder in folders or ["."])]


def _among(words: list[Word]) -> Iterator[list[Word]]:
    """An unknown program may run the words after it, as in `docker exec app rm -rf /`."""
    for at, word in enumerate(words[:50]):
        name = program(word.text)
        if name in SHELLS and any(_SHELL_CODE.match(each.text) for each in words[at + 1 : at + 6]):
            yield words[at:]
            return
        if (name in NOTABLE | DATABASES and at + 1 < len(words)) or name.startswith("mkfs"):
            yield words[at:]
            return


def behind(arguments: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """The value of each option with one of these names, after it or joined to it by `=`."""
    for at, each in enumerate(arguments):
        if each.lower() in names or each in names:
            yield from arguments[at + 1 : at + 2]
        elif each.startswith("--") and each.partition("=")[0] in names:
            yield each.partition("=")[2]


def joined_to(arguments: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """The text joined to each one-letter option among these names: `-ccommand`."""
    short = tuple(name for name in names if len(name) == len("-c") and name.startswith("-"))
    yield from (each[len("-c") :] for each in arguments if each.startswith(short) and len(each) > len("-c"))
