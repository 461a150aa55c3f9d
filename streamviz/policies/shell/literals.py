"""The texts in a program of another language that may be commands."""

import re
import shlex
from collections.abc import Iterator

from streamviz.policies.shell.commands import program
from streamviz.policies.shell.names import SHELLS
from streamviz.policies.shell.wrappers import NOTABLE

_LITERAL = re.compile(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`([^`]*)`", re.DOTALL
)
# Of the texts in a program only those that could do harm are read as commands.
_TELLING = re.compile(
    r"\brm\b|mkfs|\bdd\b|/dev/|shutdown|reboot|curl|wget|base64|chmod|chown|\bnc\b|ncat|\.ssh|shadow|find\b"
)
MOST_LITERALS = 50


def quoted(code: str) -> Iterator[str]:
    """The texts in a program."""
    return (next((group for group in found.groups() if group), "") for found in _LITERAL.finditer(code))


# A list of words, as `subprocess.run` and `os.execvp` take it.
_LIST = re.compile(r"[\[(]([^\[\]()]{0,2000})[\])]")
_RUN_AS_LISTS = NOTABLE | SHELLS | {"sudo", "curl", "wget"}


def _listed(code: str) -> Iterator[str]:
    """The commands that stand in a program as lists of words."""
    for found in _LIST.finditer(code):
        words = list(quoted(found[1]))
        if len(words) > 1 and program(words[0]) in _RUN_AS_LISTS:
            yield shlex.join(words)


def literals(code: str) -> Iterator[str]:
    """The texts in a program that may be commands."""
    made = 0
    for text in (*quoted(code), *_listed(code)):
        if _TELLING.search(text):
            made += 1
            if made > MOST_LITERALS:
                raise ValueError("a program with too many strings that may be commands")
            yield text
