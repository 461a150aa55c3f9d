"""The strings in a program of another language that may be commands."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import chain

from streamviz.policies.shell.commands import program
from streamviz.policies.shell.names import SHELLS
from streamviz.policies.shell.wrappers import NOTABLE

_LITERAL = re.compile(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`([^`]*)`"
    r"|(?:\bq|%)x\s*[({\[]([^(){}\[\]]*)[)}\]]",
    re.DOTALL,
)
# Where a string may begin; and a string in quotation marks, up to the closing mark or whatever ends it without one.
_START = re.compile(r"['\"`]|(?:\bq|%)x\s*[({\[]")
_WITHIN = {"'": re.compile(r"'(?:[^'\\\n]|\\.)*+", re.DOTALL), '"': re.compile(r"\"(?:[^\"\\\n]|\\.)*+", re.DOTALL)}
# Perl's and Ruby's other ways to quote a text or its words, and Lua's long strings.
_OPERATOR = re.compile(
    r"(?:\bq[qw]?|%[qQwW])\s*(?:\(([^()]*)\)|\{([^{}]*)\}|\[([^\[\]]*)\]|<([^<>]*)>|\|([^|]*)\||!([^!]*)!)"
    r"|\[\[([^\[\]]*)\]\]"
)
# Only strings that could do harm are read as commands.
_TELLING = re.compile(
    r"\brm\b|mkfs|\bdd\b|/dev/|shutdown|reboot|curl|wget|base64|chmod|chown|\bnc\b|ncat|\.ssh|shadow|find\b"
)
MOST_LITERALS = 50


def quoted(code: str) -> Iterator[str]:
    """The strings in a program."""
    return map(_text, chain(_found(code), _OPERATOR.finditer(code)))


def _found(code: str) -> Iterator[re.Match[str]]:
    """All strings. If a string has no closing mark, neither has any of its kind that begins within it: looking for one
    from each beginning would take quadratic time."""
    at, endless = 0, {"'": 0, '"': 0}
    while start := _START.search(code, at):
        at, mark = start.start(), start[0]
        found = None if at < endless.get(mark, 0) else _LITERAL.match(code, at)
        if found is not None:
            yield found
        elif mark in _WITHIN and at >= endless[mark] and (within := _WITHIN[mark].match(code, at)):
            endless[mark] = within.end()
        at = found.end() if found else at + 1


def _text(found: re.Match[str]) -> str:
    return next((group for group in found.groups() if group), "")


# Separates two words of a list, as `subprocess.run`, `exec` and `spawn` take it.
_BETWEEN = re.compile(r"\s*,\s*((?:\{\s*args\s*:\s*)?[\[(]\s*)?")
_RUN_AS_LISTS = NOTABLE | SHELLS | {"sudo", "curl", "wget"}


def _listed(code: str) -> Iterator[str]:
    """The commands that a program has as lists of words."""
    words: list[str] = []
    end = 0
    for found in _found(code):
        between = _BETWEEN.fullmatch(code, end, found.start())
        if between is None or (between[1] and not _is_command(words)):
            yield from _joined(words)
            words = []
        words.append(_text(found))
        end = found.end()
    yield from _joined(words)


def _is_command(words: Sequence[str]) -> bool:
    return bool(words) and program(words[0]) in _RUN_AS_LISTS


def _joined(words: Sequence[str]) -> list[str]:
    return [shlex.join(words)] if len(words) > 1 and _is_command(words) else []


def literals(code: str) -> Iterator[str]:
    """The strings in a program that may be commands. Raises ValueError if there are more than MOST_LITERALS."""
    made = 0
    for text in (*quoted(code), *_listed(code)):
        if _TELLING.search(text):
            made += 1
            if made > MOST_LITERALS:
                raise ValueError("a program with too many strings that may be commands")
            yield text
