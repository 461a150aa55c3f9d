"""Commands that read private keys and credentials, or send them elsewhere."""

from streamviz.policies.shell import patterns
from streamviz.policies.shell.code import interpreted
from streamviz.policies.shell.commands import Command
from streamviz.policies.shell.literals import quoted
from streamviz.policies.shell.names import DOWNLOADERS, INTERPRETERS, READERS, SENDERS
from streamviz.policies.shell.paths import normal
from streamviz.policies.shell.patterns import has
from streamviz.policies.shell.protected_paths import may_be_key
from streamviz.policies.shell.touched import paths, written

_METADATA = ("169.254.169.254", "metadata.google.internal", "100.100.100.200")
_GATHERED = frozenset({"env", "printenv", "history", "export", "set"})


def gives_credentials_away(command: Command) -> str:
    """What is wrong with it; empty if nothing is."""
    if command.name in READERS and any(map(_is_private, _read(command))):
        return "it reads private keys or credentials"
    if any(map(_is_private, paths(command, [word.text for word in command.flow.reads]))):
        return "it reads private keys or credentials"
    if command.name in DOWNLOADERS and any(host in each for each in command.arguments for host in _METADATA):
        return "it asks for the machine's credentials"
    if command.name == "security" and any(each.startswith(("find-", "dump-")) for each in command.arguments[:1]):
        return "it reads private keys or credentials"
    if command.name in INTERPRETERS and any(_is_private(each) for each in quoted("\n".join(interpreted(command)))):
        return "it reads private keys or credentials"
    is_sent = _sends(command) and any(map(_gathers, (command, *command.origins)))
    if is_sent:
        return "it sends credentials or environment variables elsewhere"
    if any("authorized_keys" in path for path in written(command)):
        return "it lets somebody sign in with a key"
    return ""


def _sends(command: Command) -> bool:
    return command.name in SENDERS and (command.name != "openssl" or "s_client" in command.arguments)


def _gathers(command: Command) -> bool:
    if command.name in _GATHERED and not (command.name in ("export", "set", "env") and command.arguments):
        return True
    is_reading = command.name in READERS or command.name in SENDERS
    return is_reading and any(_is_private(path) or has(patterns.PRIVATE_WHEN_SENT, path) for path in _read(command))


def _read(command: Command) -> list[str]:
    """The paths that a command reads, except a key that it signs in with, which is not sent anywhere."""
    arguments = command.arguments
    own = [
        each
        for at, each in enumerate(arguments)
        if not (at and arguments[at - 1] in ("-i", "--identity", "--key", "--cert", "--cacert", "-E"))
    ]
    own = [
        part
        for each in own
        for part in (each, each.rpartition("@")[2], each.rpartition("=")[2], each.rpartition("=@")[2])
    ]
    texts = [each for each in own if not each.startswith("-") or "/" in each]
    return [*paths(command, texts), *(word.text for word in command.flow.reads)]


def _is_private(path: str) -> bool:
    return any(has(patterns.PRIVATE, each) for each in (path, normal(path))) or may_be_key(path)
