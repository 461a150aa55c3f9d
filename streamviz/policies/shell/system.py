"""Commands that stop a machine or open it up: its power, kernel and files, its users and their permissions."""

from streamviz.policies.shell.administration import administers
from streamviz.policies.shell.commands import Command, operands
from streamviz.policies.shell.protected_paths import is_core, is_device, is_settings
from streamviz.policies.shell.touched import is_program, paths, written

_STOPS = frozenset("shutdown reboot halt poweroff".split())
_STOPPING_UNITS = frozenset("poweroff reboot halt kexec emergency rescue isolate soft-reboot".split())


def harms_system(command: Command) -> str:
    """What is wrong with it; empty if nothing is."""
    return _stops(command) or administers(command) or _overwrites(command)


def _stops(command: Command) -> str:
    name, arguments = command.name, command.arguments
    if is_program(command, *_STOPS) and not set(arguments) & {"-c", "--help", "--version"}:
        return "it stops the machine"
    verbs = {*_STOPPING_UNITS, "0", "6"}
    if name in ("systemctl", "loginctl", "init", "telinit") and verbs & set(operands(arguments)[:1]):
        return "it stops the machine"
    if name in ("kill", "pkill", "killall") and _kills_all(command):
        return "it kills every process"
    return "it changes the running kernel" if name in ("insmod", "kexec") else ""


def _overwrites(command: Command) -> str:
    if any(is_settings(path) and not is_device(path) for path in written(command)):
        return "it writes to system files"
    if command.name == "mv" and any(map(is_core, paths(command, operands(command.arguments)[:-1]))):
        return "it moves system files away"
    return ""


def _kills_all(command: Command) -> bool:
    rest = command.arguments
    if command.name == "kill":
        return "-1" in rest[1:] or rest[-1:] == ("1",)
    return any(rest[at : at + 1] in (("-u",), ("-U",)) for at in range(len(rest))) and "root" in rest
