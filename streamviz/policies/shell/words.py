"""The text of a shell script's words: quotes, escapes, and marks for braces."""

import re

from streamviz.policies.shell.commands import UNKNOWN

# Marks in a word while it is put together: unquoted braces and commas, and where it is split.
OPEN, CLOSE, COMMA, GAP = "\ue000", "\ue001", "\ue002", "\ue003"
MARKS = str.maketrans({OPEN: "{", CLOSE: "}", COMMA: ","})
_UNMARKED = str.maketrans({"{": OPEN, "}": CLOSE, ",": COMMA})
# Characters that a shell drops, and our own marks, must not hide what is there.
_LEFT_OUT = re.compile(f"[{UNKNOWN}{OPEN}{CLOSE}{COMMA}{GAP}]")
_BACKTICKS = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`", re.DOTALL)
_WITHIN_BACKTICKS = re.compile(r"\\([`$\\])")
_JOINED = re.compile(r"\\\r?\n")
_END = "END_OF_TEXT"
# The parser takes these for blanks, a shell for letters, so a letter of ours stands in for them.
_NO_BLANKS = str.maketrans(dict.fromkeys("\v\f\r", "\ue004"))
# After an escaped blank, `#` begins a comment for the parser, but not for a shell.
_NO_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*\\[ \t])#")

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_LAST_CHARACTER = 0x10FFFF
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)
_QUOTED_BACKSLASH = re.compile(r"\\([$`\"\\])")


def cleaned(text: str) -> str:
    """A text without NUL, which shells drop, and without our own marks."""
    return _LEFT_OUT.sub("", text)


def readings(text: str) -> list[str]:
    """The ways to read a script. The first is without what shells drop: NUL, and line breaks after a backslash. Others
    have lines separate that a backslash may not join, and end lines at carriage returns, as terminals do."""
    text = cleaned(text)
    told = [_JOINED.sub("", text)]
    if _may_not_join(text):
        told.append(_separated(text))
    if "\r" in text.replace("\r\n", "\n"):
        told.append(_JOINED.sub("", text.replace("\r", "\n")))
    return [_NO_COMMENT.sub(r"\1\\#", each.replace("\r\n", "\n").translate(_NO_BLANKS)) for each in told]


def _may_not_join(text: str) -> bool:
    """Whether a backslash at the end of a line may be part of a comment, of quoted text or of an escaped backslash, or
    may escape a carriage return."""
    is_anywhere = "<<" in text  # inside a quoted here-document
    lines = [line for line in text.split("\n")[:-1] if line.endswith(("\\", "\\\r"))]
    return any(is_anywhere or line.endswith("\r") or any(mark in line[:-1] for mark in "#'\\") for line in lines)


def _separated(text: str) -> str:
    """A text in which a backslash before a carriage return does not join lines. It still joins one that begins with `|`
    or `&`, which no shell accepts alone, unless a comment may end before it."""
    made = []
    before, *rest = text.split("\\\r\n")
    for line in rest:
        is_joined = line.lstrip().startswith(("|", "&")) and "#" not in before.rpartition("\n")[2]
        made += [before, "\\\r\n" if is_joined else "\\\r\r\n"]
        before = line
    return "".join([*made, before])


def in_here_document(text: str) -> str:
    """A script that runs the command substitutions in a text, whatever else the text contains: quotes and parentheses
    mean nothing in a here-document."""
    return f"cat <<{_END}\n{text}\n{_END}\n"


def backticked(text: str) -> list[str]:
    """The text between backticks, as the shell that runs it gets it."""
    return [_WITHIN_BACKTICKS.sub(r"\1", found) for found in _BACKTICKS.findall(text)]


def bare(text: str) -> str:
    """Unquoted text without its backslashes; braces and commas are marked."""
    return _BACKSLASH.sub(lambda found: found[1].translate(MARKS), text.translate(_UNMARKED))


def within_quotes(text: str) -> str:
    """The text in double quotes."""
    return _QUOTED_BACKSLASH.sub(r"\1", text)


def ansi(text: str) -> str:
    r"""The text in $'…', or given to `echo -e`, with escapes such as \x72."""
    return _ANSI.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    short, long, longest, octal, control, letter = escape.groups()
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control) & 0x1F)
    if letter:
        return _ESCAPES.get(letter, letter)
    code = int(short or long or longest, 16)
    is_character = code <= _LAST_CHARACTER and not _FIRST_SURROGATE <= code <= _LAST_SURROGATE
    return chr(code) if is_character else "?"
