"""What commands are known to print."""

import re
from itertools import islice

from streamviz.policies.shell.commands import UNKNOWN, Command, operands
from streamviz.policies.shell.words import ansi

_PLACE = re.compile(r"%[-+ #0-9*]*(?:\.(\d{0,6}))?([a-zA-Z%])")


def output_of(command: Command) -> str | None:
    """What a command prints, as far as its words tell; None if they do not."""
    arguments = command.arguments
    match command.name:
        case "echo":
            text = ansi(" ".join(_said(arguments)))
            return text if _has_no_end(arguments) else text + "\n"
        case "printf":
            return _formatted(operands(arguments[2:] if arguments[:1] == ("-v",) else arguments))
        case "cat" | "tee" if command.name == "tee" or not operands(arguments) or arguments == ("-",):
            return input_of(command)
        case "pwd":
            return command.folder or "."
        case "mktemp":
            return f"/tmp/{UNKNOWN}"  # noqa: S108
        case "which" | "command" | "type":
            return next(iter(operands(arguments)), None)
    return None


def input_of(command: Command) -> str | None:
    """What a command is given to read; None if that is unknown."""
    if command.flow.given:
        return "\n".join(command.flow.given)
    # All commands before it in the pipe: several may write to it. Unknown output counts as a line.
    said = [feed.said for feed in islice(command.flow.feeds, 50)]
    return None if all(each is None for each in said) else "".join("\n" if each is None else each for each in said)


def _has_no_end(arguments: tuple[str, ...]) -> bool:
    """Whether `echo` has `-n`, so that it ends without a line break."""
    own = len(arguments) - len(_said(arguments))
    return any("n" in each for each in arguments[:own])


def _said(arguments: tuple[str, ...]) -> list[str]:
    rest = list(arguments)
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        rest.pop(0)
    return rest


def _formatted(words: list[str]) -> str | None:
    if not words:
        return None
    rest = iter(words[1:])
    text = ansi(words[0])
    first = _PLACE.sub(lambda place: "%" if place[2] == "%" else _placed(place, next(rest, "")), text)
    return first + "".join(f" {word}" for word in rest)


def _placed(place: re.Match[str], word: str) -> str:
    """What a placeholder makes of a word."""
    most, kind = place.groups()
    word = ansi(word) if kind == "b" else word[:1] if kind == "c" else word
    return word if most is None else word[: int(most or 0)]
