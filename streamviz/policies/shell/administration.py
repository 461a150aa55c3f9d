"""Commands that change users, permissions or protection on a machine."""

import re

from streamviz.policies.shell import patterns
from streamviz.policies.shell.commands import Command, operands, options
from streamviz.policies.shell.patterns import has
from streamviz.policies.shell.protected_paths import is_core, is_system
from streamviz.policies.shell.touched import is_outer, paths
from streamviz.policies.shell.wrappers import behind

_USERS = frozenset("userdel deluser groupdel delgroup killall5 pvremove vgremove lvremove".split())
_RIGHTS = frozenset("chmod chown chgrp setfacl chattr icacls".split())
_MAKES_USERS = frozenset("useradd adduser usermod gpasswd addgroup".split())
_RULING_GROUPS = frozenset("root sudo wheel admin docker lxd disk shadow".split())
_PROTECTION = frozenset(
    "ssh sshd ufw firewalld iptables nftables apparmor auditd fail2ban clamav-daemon falcon-sensor osqueryd".split()
)
_SWITCHED_OFF = frozenset("stop disable mask kill".split())


def administers(command: Command) -> str:
    """What is wrong with it; empty if nothing is."""
    name = command.name
    if name in _RIGHTS:
        return _rights(command)
    if name in _USERS or (name == "crontab" and "r" in options(command.arguments)):
        return "it deletes users, volumes or scheduled jobs"
    if _gives_root(command):
        return "it makes somebody an administrator"
    return "it switches protection off" if _unprotects(command) else ""


def _unprotects(command: Command) -> bool:
    name, arguments = command.name, command.arguments
    if name == "systemctl":
        units = {each.removesuffix(".service") for each in operands(arguments)[1:]}
        return bool(_SWITCHED_OFF & set(operands(arguments)[:1]) and units & _PROTECTION)
    if name == "service":
        return arguments[1:2] == ("stop",) and bool(_PROTECTION & set(arguments[:1]))
    if name in ("iptables", "ip6tables"):
        return bool({"-F", "--flush"} & set(arguments)) or (arguments[-1:] == ("ACCEPT",) and "-P" in arguments)
    return (name, *arguments[:1]) in {("ufw", "disable"), ("setenforce", "0")} or arguments[:2] == ("flush", "ruleset")


def _gives_root(command: Command) -> bool:
    name, arguments = command.name, command.arguments
    if name == "passwd":
        return bool(options(arguments) & {"d", "delete"})
    if name not in _MAKES_USERS:
        return False
    groups = {group for each in arguments for group in re.split(r"[,=]", each)}
    return bool(groups & _RULING_GROUPS) or "0" in behind(arguments, ("-u", "--uid"))


def _rights(command: Command) -> str:
    targets = paths(command, operands(command.arguments)[1:])
    is_recursive = bool(options(command.arguments) & {"R", "recursive"})
    if is_recursive and any(is_outer(path) or is_system(path) for path in targets):
        return "it changes permissions of system folders"
    if any(map(is_core, targets)):
        return "it changes permissions of system files"
    is_set_uid = command.name == "chmod" and any(has(patterns.SET_UID, each) for each in command.arguments)
    return "it lets a program run as its owner" if is_set_uid else ""
