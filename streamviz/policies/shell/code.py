"""Code within commands: text given to `bash -c`, input, and files whose content is known."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from streamviz.policies.shell.commands import Command, Word, operands
from streamviz.policies.shell.literals import MOST_LITERALS, literals
from streamviz.policies.shell.names import AWKS, CODE_OPTIONS, INTERPRETERS, SHELLS, TEXT_OPTIONS
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.paths import normal
from streamviz.policies.shell.patterns import STARTED, has
from streamviz.policies.shell.runners import REMOTE
from streamviz.policies.shell.wrappers import PLAIN, behind, behind_options, joined_to

# Options of shells, grouped after one sign.
_SHELL_OPTIONS = re.compile(r"[-+][a-zA-Z]+")
STANDARD_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
STARTUP_OPTIONS = ("--rcfile", "--init-file")
# An option that takes code, in a group of one-letter options, and any code joined to it. A group of options alone has
# only letters.
_GROUPED = re.compile(r"-(?:[A-Za-z]*[ceErp][A-Za-z]{0,3}|[A-Za-z]{0,5}?[ceErp](.*[^A-Za-z].*))", re.DOTALL)
_ALONE = len("-c")
# The same, or the module that runs, for interpreters whose flags are known: any other option may take what is joined to
# it as a value, and the code would still follow.
_JOINED_TO_FLAGS = {
    "python": re.compile(r"-[bBdEhiIOPqsSuvVx]*[cm].+", re.DOTALL),
    "perl": re.compile(r"-[acnpwWltsSTuUX]*[eE].+", re.DOTALL),
    "ruby": re.compile(r"-[acdlnpsvw]*e.+", re.DOTALL),
    "php": re.compile(r"-r.+", re.DOTALL),
}
_LONG_CODE = ("--eval=", "--print=")
_JOINED_CODE = re.compile(r"-[a-z]*c\Z")
_SCHEDULE = re.compile(r"(?m)^[^\S\n]*(?:@\w+|(?:\S+\s+){5})")
# Settings that are commands: `git -c core.sshCommand=…`, `tar --checkpoint-action=exec=…`.
_SETTING = re.compile(
    r"[\w.-]{0,80}=?(?:exec|[cC]ommand|pager|editor|program|askpass|fsmonitor|helper)=(.+)", re.DOTALL
)
COMMAND_VARIABLES = re.compile(
    r"(?:\w{0,40}_)?(?:COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|VISUAL|SSH|ASKPASS|LESSOPEN|BROWSER)\Z"
)


def code_in(command: Command, files: Mapping[str, str]) -> Iterator[str]:
    """The scripts that this command runs: its own text, its input, or a file whose written content is known."""
    yield from _known_code(command, files)
    if command.name not in PLAIN | SHELLS | INTERPRETERS | _BUILT_IN.keys():
        yield from _told(command)


def _known_code(command: Command, files: Mapping[str, str]) -> Iterator[str]:
    name, arguments = command.name, command.arguments
    if name in SHELLS:
        yield from _shell_code(command, files)
    elif name in INTERPRETERS:
        files_of = _held_by([word for word in command.words[1:] if not word.text.startswith("-")][:1], files)
        yield from literals("\n".join([*interpreted(command), *files_of]))
    elif name in _BUILT_IN:
        yield from _BUILT_IN[name](arguments)
    elif name in REMOTE:
        yield from _behind_first(command)
    elif name in TEXT_OPTIONS:
        yield from _given_as_text(name, arguments)
    elif name == "crontab" and "-" in arguments:
        yield _SCHEDULE.sub("", input_of(command) or "")
    elif name in (".", "source") and not STANDARD_INPUT.isdisjoint(arguments):
        yield input_of(command) or ""
    if name in _SHELLED:
        yield from (found[1] for found in map(_SHELLED[name].match, arguments) if found)
    yield from (found[1] for found in map(_SETTING.match, arguments) if found)
    if command.said and (started := [path for path in map(plain, writes(command)) if has(STARTED, path)]):
        yield _SCHEDULE.sub("", command.said) if any("cron" in path for path in started) else command.said
    yield from _held_by(command.words[1:2] if name in (".", "source") else command.words[:1], files)


def _given_as_text(name: str, arguments: Sequence[str]) -> Iterator[str]:
    short = [each if not _JOINED_CODE.match(each) else "-c" for each in arguments]
    yield from behind(short, TEXT_OPTIONS[name])
    yield from joined_to(arguments, TEXT_OPTIONS[name])
    if name == "env":  # what `-S` splits is followed by the remaining words
        at = next((n for n, each in enumerate(arguments) if each in TEXT_OPTIONS["env"]), len(arguments))
        yield " ".join(arguments[at + 1 :])


# A text that begins with a program that can do harm, as programs are told to run it: `!…`, `shell …`, `spawn …`.
_TEXT = re.compile(
    r"\W{0,4}(?:(?:shell|spawn|system)\s+)?((?:sudo\s+)?(?:/[\w./-]*/)?"
    r"(?:rm|dd|mkfs[\w.]*|shred|chmod|chown|find|curl|wget|(?:ba|z|da|k)?sh|nc|eval|cat|tar|mv)\s.*)",
    re.DOTALL,
)


def _told(command: Command) -> Iterator[str]:
    """What an unknown program may run from its arguments and its input. If its name has a space, it is not a program
    but the first of several commands."""
    if " " in command.words[0].text:
        return
    texts = [each for each in command.arguments if " " in each.strip()]
    texts += (input_of(command) or "").splitlines()[:MOST_LITERALS]
    yield from (found[1] for text in texts if (found := _TEXT.match(text)))


# Words that are shell commands after a marker: `git -c alias.x='!…'`, `vim -c ':!…'`, `sed '1e …'`.
_MARKED = re.compile(r"\+?:?(?:silent )?!(.+)", re.DOTALL)
_SHELLED = {
    "git": re.compile(r"(?:alias\.[^=]{0,80}=)?!(.+)", re.DOTALL),
    "sed": re.compile(r"(?:\d+|\$|/(?:[^/\\]|\\.)*/)?\s*e\s+(.+)", re.DOTALL),
    **dict.fromkeys(["vim", "vi", "nvim", "ex", "view", "less", "more"], _MARKED),
}


def writes(command: Command) -> list[str]:
    """The files that receive the command's output."""
    return [*(word.text for word in command.flow.writes), *(command.arguments if command.name == "tee" else ())]


def plain(path: str) -> str:
    """The form in which the paths of a script are compared."""
    return normal(path)


# What the shell's builtins run as a script.
_BUILT_IN: Mapping[str, Callable[[tuple[str, ...]], list[str]]] = {
    "eval": lambda arguments: [" ".join(each for each in arguments if each != "--")],
    "trap": lambda arguments: operands(arguments)[:1],
    "alias": lambda arguments: [each.partition("=")[2] for each in arguments if "=" in each],
}


def shell_text(command: Command) -> Word | None:
    """The word that a shell is given as its script; None if there is none."""
    words = iter(command.words[1:])
    for word in words:
        text = word.text
        if _SHELL_OPTIONS.fullmatch(text):
            if "o" in text or "O" in text:  # the name of the option to set follows: `-euo pipefail`
                next(words, None)
            if text.startswith("-") and "c" in text:
                return next((each for each in words if not each.text.startswith("-")), None)
        elif text in STARTUP_OPTIONS:
            next(words, None)
        elif not text.startswith(("-", "+")):
            return None
    return None


def positional(command: Command) -> list[Word]:
    """What a shell's inline script sees as $0, $1 and so on."""
    text = shell_text(command)
    return [] if text is None else list(command.words[command.words.index(text) + 1 :])


def reads_input(command: Command) -> bool:
    """Whether a shell or interpreter reads its script from its input."""
    if command.name in SHELLS:
        if shell_text(command) is not None:
            return False
        own = [each for each in operands(command.arguments) if not each.isdigit()]  # `bash 0<<< text`
        return (
            not own
            or bool(STANDARD_INPUT & set(own))
            or any(each.startswith("-") and "s" in each for each in command.arguments[:2])
        )
    rest = [each for each in command.arguments if each not in ("-", "run")]
    is_given_none = all(each.startswith("-") for each in rest) and not _has_code(command.name, rest)
    return command.name in INTERPRETERS and is_given_none


def may_run_input(command: Command) -> bool:
    """Whether it may run what it reads, or give it to a command that does."""
    return reads_input(command) or command.name in ("read", "xargs", "parallel", ".", "source")


def interpreted(command: Command) -> list[str]:
    """The programs that an interpreter is given: after an option, or as its input."""
    arguments = command.arguments
    if command.name in AWKS:
        code = _behind_settings(arguments)[:1]
    else:
        code = [*behind(arguments, CODE_OPTIONS), *_in_grouped(arguments)]
    said = input_of(command) if reads_input(command) else None
    return code if said is None else [*code, said]


def _behind_settings(arguments: Sequence[str]) -> list[str]:
    """The arguments after the options of an `awk`."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in ("-v", "-F", "--assign", "--field-separator") else 1
    return list(arguments[at:])


def _in_grouped(arguments: Sequence[str]) -> Iterator[str]:
    """Code after an option in a group, `-we`, or joined to an option: `-ccode`."""
    for at, each in enumerate(arguments):
        if (grouped := _GROUPED.fullmatch(each)) is None:
            continue
        if grouped[1]:
            yield grouped[1]
        elif len(each) > _ALONE:
            yield from arguments[at + 1 : at + 2]


def _has_code(program: str, arguments: Sequence[str]) -> bool:
    """Whether the options themselves give an interpreter its code, joined to one of them."""
    joined = _JOINED_TO_FLAGS.get(program)
    return any((joined and joined.fullmatch(each)) or each.startswith(_LONG_CODE) for each in arguments)


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
    at = next((n for n, word in enumerate(command.words) if word.text in STARTUP_OPTIONS), len(command.words))
    yield from _held_by(command.words[at + 1 : at + 2], files)


def _held_by(words: Iterable[Word], files: Mapping[str, str]) -> Iterator[str]:
    """The content of the files with these names, including `<(…)`, if it is known."""
    for word in words:
        if plain(word.text) in files:
            yield files[plain(word.text)]
        yield from (source.said for source in word.sources if source.said)


def _behind_first(command: Command) -> Iterator[str]:
    """The commands after the first word of `ssh host`, `watch` and the like."""
    rest = [word.text for word in behind_options(command.name, list(command.words[1:]))]
    if command.name in ("at", "batch"):
        said = input_of(command)
        yield from [said] if said else []
    elif command.name == "watch":
        yield " ".join(rest)
    else:
        yield " ".join(rest[1:])
        if command.name == "tmux":
            yield from rest[1:]
