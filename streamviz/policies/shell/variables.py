"""A shell's variables, and what `$X`, `${X:-…}` and the like expand to."""

import re
from collections.abc import Callable, Iterable, Mapping

from streamviz.policies.shell.commands import UNKNOWN, Command, Word
from streamviz.policies.shell.cutting import changed

# Signs before the name other than `!` and `#` are zsh's.
_EXPANSION = re.compile(r"\$\{(!?)[#=~^]?(\w+|[@*?#!$-])(?:\[[^\]]*\])?(.*)\}\Z", re.DOTALL)
_DEFAULTS = ("-", "=", "+", "?")
# Typical values of these, of which something can be cut off.
_FOLDERS = {"HOME": "/home/user", "PWD": "/home/user/project"}
# What is set when a script starts. The home folder is `~`, whoever it belongs to.
_SET = {
    "HOME": "~",
    "PWD": ".",
    "IFS": " ",
    "TMPDIR": "/tmp",  # noqa: S108
    "TMP": "/tmp",  # noqa: S108
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "SHELL": "/bin/bash",
    "BASH": "/bin/bash",
    "0": "bash",
}


def found_set() -> dict[str, Word]:
    """The variables that are set when a script starts."""
    return {name: Word(value) for name, value in _SET.items()}


def expanded(source: str, variables: Mapping[str, Word], inner: Callable[[], list[Word]]) -> Word:
    """What a variable in the source expands to; `inner` gives the words in its braces, after its name."""
    found = _EXPANSION.match(source)
    if found is None:
        return variables.get(source[1:], Word(UNKNOWN))
    indirect, name, operation = found.groups()
    word = variables.get(name)
    if indirect and word is not None:
        word = variables.get(word.text)
    if not operation:
        return word or Word(UNKNOWN)
    within = inner()
    if operation.lstrip(":").startswith(_DEFAULTS) and (word is None or operation.lstrip(":").startswith("+")):
        return Word("".join(each.text for each in within) or UNKNOWN, together(within))
    return Word(_cut(name, word, operation, variables), together([*within, word] if word else within))


def together(words: Iterable[Word]) -> tuple[Command, ...]:
    """The sources of all words, each once: a variable may contain itself many times over."""
    return tuple({id(source): source for word in words for source in word.sources}.values())


def _cut(name: str, word: Word | None, operation: str, variables: Mapping[str, Word]) -> str:
    """`${X:0:1}`, `${X,,}`, `${X%/*}` and the like."""
    if word is None:
        return UNKNOWN
    if operation.lstrip(":").startswith(_DEFAULTS):
        return word.text
    if name == "IFS":  # what is left of it still separates words
        return word.text
    text = changed(_FOLDERS.get(name, word.text), operation, variables)
    return UNKNOWN if text is None else text
