"""Paths that more than a project depends on: the system's, devices, files that hold keys."""

import re
from fnmatch import fnmatchcase

from streamviz.policies.shell.paths import emptied, normal

_GLOB = re.compile(r"[*?\[]")
_SYSTEM = (
    "bin boot dev etc lib lib32 lib64 libx32 proc sbin sys usr var opt run srv System Library Applications private"
    " Volumes Windows mnt media snap nix"
).split()
_CORE = (
    "bin boot dev lib lib32 lib64 libx32 proc sbin sys System usr/bin usr/sbin usr/lib usr/lib64 usr/libexec".split()
)
_CORE_FILES = (
    "passwd shadow gshadow group sudoers sudoers.d fstab hosts crontab cron.d cron.daily ld.so.preload ld.so.conf"
    " ssh/sshd_config pam.d profile environment resolv.conf inittab rc.local systemd"
).split()
_LONGEST_GLOB = 200
_KEYS = (
    "~/.ssh/id_rsa ~/.ssh/id_ed25519 ~/.ssh/id_ecdsa ~/.ssh/id_dsa .ssh/id_rsa .ssh/id_ed25519 ~/.aws/credentials"
    " ~/.netrc ~/.git-credentials ~/.pgpass ~/.kube/config ~/.docker/config.json ~/.config/gh/hosts.yml /etc/shadow"
    " /etc/gshadow /etc/sudoers"
).split()
_OWN_DEVICES = ("null", "zero", "full", "stdin", "stdout", "stderr", "tty", "random", "urandom", "ptmx")


def is_system(path: str) -> bool:
    """Whether it belongs to the operating system."""
    parts = normal(path).split("/")
    return parts[0] == "" and len(parts) > 1 and any(_may_be(parts[1], name) for name in _SYSTEM)


def is_core(path: str) -> bool:
    """Whether the system would not start, or would not be safe, without it."""
    path = normal(path)
    if is_device(path) or not path.startswith("/"):
        return is_device(path)
    names = [*_CORE, *(f"etc/{name}" for name in _CORE_FILES)]
    harmless = path.startswith(("/dev/", "/proc/self/", "/sys/fs/cgroup"))
    return not harmless and any(path[1:] == name or path[1:].startswith(f"{name}/") for name in names)


def is_settings(path: str) -> bool:
    """Whether writing there changes the system: what is in `is_core`, and the folders that hold it."""
    return is_core(path) or emptied(normal(path)) in ("/etc", "/usr")


def may_be_key(path: str) -> bool:
    """Whether a path with wildcards stands for a file that holds private keys or credentials."""
    glob = normal(path)
    if not _GLOB.search(glob) or len(glob) > _LONGEST_GLOB:
        return False
    return any(glob.count("/") == key.count("/") and fnmatchcase(key, glob) for key in _KEYS)


def is_device(path: str) -> bool:
    """Whether writing there writes to a disk, memory or the like."""
    path = normal(path)
    name = path.removeprefix("/dev/")
    return (
        name != path
        and name not in _OWN_DEVICES
        and not name.startswith(("fd/", "shm/", "tty", "pts/", "tcp/", "udp/"))
    )


def _may_be(part: str, name: str) -> bool:
    """Whether a part of a path, which may have wildcards, can be this name."""
    return part.lower() == name.lower() or (bool(_GLOB.search(part)) and fnmatchcase(name, part))
