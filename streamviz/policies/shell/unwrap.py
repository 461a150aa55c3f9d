"""Commands within commands: behind `sudo`, given to `xargs` and `find -exec`, as text to `bash -c`."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from streamviz.policies.shell.commands import UNKNOWN, Command, Word, operands, program
from streamviz.policies.shell.names import CODE_OPTIONS, INTERPRETERS, REMOTE, RUNNERS, SHELLS, TEXT_OPTIONS, WRAPPERS
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.paths import normal
from streamviz.policies.shell.patterns import STARTED, has
from streamviz.policies.shell.services import DATABASES

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL_CODE = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*\Z")
# Options of shells that take a value.
_SHELL_OPTIONS = re.compile(r"[-+][a-zA-Z]+")
_STARTUP_OPTIONS = ("--rcfile", "--init-file")
_JOINED_CODE = re.compile(r"-[a-z]*c\Z")
_SCHEDULE = re.compile(r"(?m)^\s*(?:@\w+|(?:\S+\s+){5})")
# Settings that are commands: `git -c core.sshCommand=…`, `tar --checkpoint-action=exec=…`.
_SETTING = re.compile(r"[\w.-]{0,80}=?(?:exec|[cC]ommand|pager|editor|program|askpass)=(.+)", re.DOTALL)
COMMAND_VARIABLES = re.compile(r"(?:\w{0,40}_)?(?:COMMAND|PAGER|EDITOR|VISUAL|SSH|ASKPASS|LESSOPEN|BROWSER)\Z")
_FD_EXEC = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_LITERAL = re.compile(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`([^`]*)`", re.DOTALL
)
# Of the texts in a program only those that could do harm are read as commands.
_TELLING = re.compile(
    r"\brm\b|mkfs|\bdd\b|/dev/|shutdown|reboot|curl|wget|base64|chmod|chown|\bnc\b|ncat|\.ssh|shadow|find\b"
)
_MOST_LITERALS = 50
_MOST_FILLED = 5
# Programs that take their arguments as they are: no command is among them.
_PLAIN = frozenset(
    "echo printf git grep egrep fgrep rg ag ack sed man which type whatis apropos help test [ cat ls cp mv touch mkdir"
    " npm pnpm yarn pip pip3 uv apt apt-get brew cargo go make cd export set less head tail diff jq ln sort wc rm dd"
    " chmod chown shred find code vim nano gh read".split()
)
_NOTABLE = frozenset("rm dd chmod chown shred find".split())


def wrapped(command: Command) -> Iterator[Sequence[Word]]:
    """The commands that this one runs with words of its own."""
    if not command.words:
        return
    name, rest = command.name, list(command.words[1:])
    if name in ("xargs", "parallel"):
        if words := _behind_options(name, rest):
            yield from _with_input(words, command)
    elif name in WRAPPERS:
        yield _behind_options(name, rest)
    elif name in RUNNERS:
        yield _run_by(name, rest)
    elif name == "find":
        yield from _found(rest)
    elif name == "git":
        yield from _run_by_git(rest)
    elif name in ("fd", "fdfind"):
        yield from _found_by_fd(rest)
    elif name not in _PLAIN | SHELLS | INTERPRETERS:
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
    """The words without the options before them, some of which take a value."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in valued else 1
    return words[at:]


def code_in(command: Command, files: Mapping[str, str]) -> Iterator[str]:
    """The scripts that this command runs: its own text, its input, or a file of which is known what was written."""
    yield from _known_code(command, files)
    if command.name not in _PLAIN | SHELLS | INTERPRETERS | _BUILT_IN.keys():
        yield from _told(command)


def _known_code(command: Command, files: Mapping[str, str]) -> Iterator[str]:
    name, arguments = command.name, command.arguments
    if name in SHELLS:
        yield from _shell_code(command, files)
    elif name in INTERPRETERS:
        yield from _literals("\n".join(interpreted(command)))
    elif name in _BUILT_IN:
        yield from _BUILT_IN[name](arguments)
    elif name in REMOTE:
        yield from _behind_first(command)
    elif name in TEXT_OPTIONS:
        short = [each if not _JOINED_CODE.match(each) else "-c" for each in arguments]
        yield from behind(short, TEXT_OPTIONS[name])
    elif name == "crontab" and "-" in arguments:
        yield _SCHEDULE.sub("", input_of(command) or "")
    elif name in (".", "source") and "/dev/stdin" in arguments:
        yield input_of(command) or ""
    if name in _SHELLED:
        yield from (found[1] for found in map(_SHELLED[name].match, arguments) if found)
    yield from (found[1] for found in map(_SETTING.match, arguments) if found)
    if command.said and (started := [path for path in map(plain, writes(command)) if has(STARTED, path)]):
        yield _SCHEDULE.sub("", command.said) if any("cron" in path for path in started) else command.said
    yield from _held_by(command.words[1:2] if name in (".", "source") else command.words[:1], files)


# A text that begins with a program that can do harm, as programs are told to run it: `!…`, `shell …`, `spawn …`.
_TEXT = re.compile(
    r"\W{0,4}(?:(?:shell|spawn|system)\s+)?((?:sudo\s+)?(?:/[\w./-]*/)?"
    r"(?:rm|dd|mkfs[\w.]*|shred|chmod|chown|find|curl|wget|(?:ba|z|da|k)?sh|nc|eval|cat|tar|mv)\s.*)",
    re.DOTALL,
)


def _told(command: Command) -> Iterator[str]:
    """What a program that is not known may run of its arguments and its input. What has a space in its name is none,
    but the first of several commands."""
    if " " in command.words[0].text:
        return
    texts = [each for each in command.arguments if " " in each.strip()]
    texts += (input_of(command) or "").splitlines()[:_MOST_LITERALS]
    yield from (found[1] for text in texts if (found := _TEXT.match(text)))


# Words that are commands for a shell behind a mark: `git -c alias.x='!…'`, `vim -c ':!…'`.
_MARKED = re.compile(r"\+?:?(?:silent )?!(.+)", re.DOTALL)
_SHELLED = {
    "git": re.compile(r"(?:alias\.[^=]{0,80}=)?!(.+)", re.DOTALL),
    **dict.fromkeys(["vim", "vi", "nvim", "ex", "view", "less", "more"], _MARKED),
}


def writes(command: Command) -> list[str]:
    """The files that get what the command prints."""
    return [*(word.text for word in command.flow.writes), *(command.arguments if command.name == "tee" else ())]


def plain(path: str) -> str:
    """A path as it is told apart from others in one script."""
    return normal(path)


# What shells themselves take a script as.
_BUILT_IN: Mapping[str, Callable[[tuple[str, ...]], list[str]]] = {
    "eval": lambda arguments: [" ".join(each for each in arguments if each != "--")],
    "trap": lambda arguments: operands(arguments)[:1],
    "alias": lambda arguments: [each.partition("=")[2] for each in arguments if "=" in each],
}


def shell_text(command: Command) -> Word | None:
    """The word that a shell is given as its script; None where there is none."""
    words = iter(command.words[1:])
    for word in words:
        text = word.text
        if _SHELL_OPTIONS.fullmatch(text):
            if "o" in text or "O" in text:  # what is set stands behind it: `-euo pipefail`
                next(words, None)
            if text.startswith("-") and "c" in text:
                return next((each for each in words if not each.text.startswith("-")), None)
        elif text in _STARTUP_OPTIONS:
            next(words, None)
        elif not text.startswith(("-", "+")):
            return None
    return None


def positional(command: Command) -> list[Word]:
    """What a shell's own script sees as $0, $1 and so on."""
    text = shell_text(command)
    return [] if text is None else list(command.words[command.words.index(text) + 1 :])


def reads_input(command: Command) -> bool:
    """Whether a shell or interpreter takes its script from its input."""
    if command.name in SHELLS:
        if shell_text(command) is not None:
            return False
        own = [each for each in operands(command.arguments) if not each.isdigit()]  # `bash 0<<< text`
        return (
            not own
            or bool({"/dev/stdin", "/dev/fd/0"} & set(own))
            or any(each.startswith("-") and "s" in each for each in command.arguments[:2])
        )
    rest = [each for each in command.arguments if each != "-"]
    return command.name in INTERPRETERS and all(each.startswith("-") for each in rest) and not _has_code(rest)


def interpreted(command: Command) -> list[str]:
    """The programs that an interpreter is given: behind its option, or as its input."""
    code = list(behind(command.arguments, CODE_OPTIONS))
    if command.name in ("awk", "gawk", "mawk"):
        code = operands(command.arguments)[:1]
    said = input_of(command) if reads_input(command) else None
    return code if said is None else [*code, said]


def _has_code(arguments: list[str]) -> bool:
    return any(each in CODE_OPTIONS or each == "-m" for each in arguments)


def _behind_options(name: str, words: list[Word]) -> list[Word]:
    """The words of a wrapper's own passed over."""
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
    """`xargs` puts what it reads behind the command, or where `{}` stands."""
    items = [Word(text) for text in _items(command)] or [Word(UNKNOWN, tuple(command.flow.feeds))]
    if any("{}" in word.text for word in words):
        for item in items[:_MOST_FILLED]:
            yield [Word(word.text.replace("{}", item.text), word.sources + item.sources) for word in words]
    else:
        yield [*words, *items]


def _items(command: Command) -> list[str]:
    for feed in reversed(command.flow.feeds):
        if feed.name == "find":
            return [target for target, _ in found_by(feed)]
    said = input_of(command)
    return said.split()[:100] if said else []


def found_by(command: Command) -> list[tuple[str, bool]]:
    """What a `find` finds: a path for each place where it begins, and whether it is told by name there."""
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
    """Each command of `find -exec`, with what is found in the place of `{}`."""
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
    """A program that is not known may run what stands behind it, such as `docker exec app rm -rf /`."""
    for at, word in enumerate(words[:50]):
        name = program(word.text)
        if name in SHELLS and any(_SHELL_CODE.match(each.text) for each in words[at + 1 : at + 6]):
            yield words[at:]
            return
        if (name in _NOTABLE | DATABASES and at + 1 < len(words)) or name.startswith("mkfs"):
            yield words[at:]
            return


def _shell_code(command: Command, files: Mapping[str, str]) -> Iterator[str]:
    text = shell_text(command)
    if text is not None:
        yield text.text
    elif reads_input(command):
        said = input_of(command)
        yield from [said] if said is not None else []
        yield from _held_by(command.flow.reads, files)
    else:
        yield from _held_by([word for word in command.words[1:] if not word.text.startswith("-")][:1], files)
    at = next((n for n, word in enumerate(command.words) if word.text in _STARTUP_OPTIONS), len(command.words))
    yield from _held_by(command.words[at + 1 : at + 2], files)


def _held_by(words: Iterable[Word], files: Mapping[str, str]) -> Iterator[str]:
    """What is in the files of these names, `<(…)` included, where that is known."""
    for word in words:
        if plain(word.text) in files:
            yield files[plain(word.text)]
        yield from (source.said for source in word.sources if source.said)


def _behind_first(command: Command) -> Iterator[str]:
    """What `ssh host`, `watch` and such have behind their first word."""
    rest = [word.text for word in _behind_options(command.name, list(command.words[1:]))]
    if command.name in ("at", "batch"):
        said = input_of(command)
        yield from [said] if said else []
    elif command.name == "watch":
        yield " ".join(rest)
    else:
        yield " ".join(rest[1:])
        if command.name == "tmux":
            yield from rest[1:]


def behind(arguments: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """What stands behind each option of these names, or joined to it by `=`."""
    for at, each in enumerate(arguments):
        if each.lower() in names or each in names:
            yield from arguments[at + 1 : at + 2]
        elif each.startswith("--") and each.partition("=")[0] in names:
            yield each.partition("=")[2]


def quoted(code: str) -> Iterator[str]:
    """The texts in a program."""
    return (next((group for group in found.groups() if group), "") for found in _LITERAL.finditer(code))


# A list of words, as `subprocess.run` and `os.execvp` take it.
_LIST = re.compile(r"[\[(]([^\[\]()]{0,2000})[\])]")
_RUN_AS_LISTS = _NOTABLE | SHELLS | {"sudo", "curl", "wget"}


def _listed(code: str) -> Iterator[str]:
    """The commands that stand in a program as lists of words."""
    for found in _LIST.finditer(code):
        words = list(quoted(found[1]))
        if len(words) > 1 and program(words[0]) in _RUN_AS_LISTS:
            yield shlex.join(words)


def _literals(code: str) -> Iterator[str]:
    """The texts in a program that may be commands."""
    made = 0
    for text in (*quoted(code), *_listed(code)):
        if _TELLING.search(text):
            made += 1
            if made > _MOST_LITERALS:
                raise ValueError("a program with too many strings that may be commands")
            yield text
