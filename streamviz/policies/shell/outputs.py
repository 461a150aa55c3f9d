"""What commands are known to print."""

import re
from itertools import islice

from streamviz.policies.shell.commands import UNKNOWN, Command, operands
from streamviz.policies.shell.words import ansi

_PLACE = re.compile(r"%[-+ #0-9.*]*[a-zA-Z%]")


def output_of(command: Command) -> str | None:
    """What a command prints, as far as its words tell; None if they do not."""
    arguments = command.arguments
    match command.name:
        case "echo":
            return ansi(" ".join(_said(arguments)))
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
    given = list(command.flow.given)
    if not given:
        # All commands before it in the pipe: several may write to it.
        given = [feed.said for feed in islice(command.flow.feeds, 50) if feed.said is not None]
    return "\n".join(given) if given else None


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
    first = _PLACE.sub(lambda place: "%" if place[0] == "%%" else next(rest, ""), text)
    return first + "".join(f" {word}" for word in rest)
