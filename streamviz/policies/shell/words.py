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
# What separates words for the parser but not for a shell, and a letter of ours in its place.
_NO_BLANKS = str.maketrans(dict.fromkeys("\v\f\r", "\ue004"))
# Behind an escaped blank the parser takes this for the beginning of a comment, but a shell does not.
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
    """A text without NUL, which shells drop, and without marks of ours."""
    return _LEFT_OUT.sub("", text)


def readings(text: str) -> list[str]:
    """A script without what shells drop: NUL, and line breaks after a backslash. Also with its lines separate, if a
    backslash between them may not join them, and with carriage returns as ends of lines, as terminals take them."""
    text = cleaned(text)
    told = [_JOINED.sub("", text)]
    if _may_not_join(text):
        told.append(_separated(text))
    if "\r" in text.replace("\r\n", "\n"):
        told.append(_JOINED.sub("", text.replace("\r", "\n")))
    return [_NO_COMMENT.sub(r"\1\\#", each.replace("\r\n", "\n").translate(_NO_BLANKS)) for each in told]


def _may_not_join(text: str) -> bool:
    """Whether a backslash at the end of a line may be part of a comment, of quoted text or of an escaped backslash, or
    escapes a carriage return."""
    is_anywhere = "<<" in text  # inside a quoted here-document
    lines = [line for line in text.split("\n")[:-1] if line.endswith(("\\", "\\\r"))]
    return any(is_anywhere or line.endswith("\r") or any(mark in line[:-1] for mark in "#'\\") for line in lines)


def _separated(text: str) -> str:
    """A text whose lines are not joined by a backslash before a carriage return. A line that begins with `|` or `&`
    still is, as no shell takes it alone, unless a comment may end before it."""
    made = []
    before, *rest = text.split("\\\r\n")
    for line in rest:
        is_joined = line.lstrip().startswith(("|", "&")) and "#" not in before.rpartition("\n")[2]
        made += [before, "\\\r\n" if is_joined else "\\\r\r\n"]
        before = line
    return "".join([*made, before])


def in_here_document(text: str) -> str:
    """A script in which the commands in a text run, whatever else is in it: in a here-document, quotes and parentheses
    are letters."""
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
