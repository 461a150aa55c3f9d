"""Where paths lead, and which of them a command may take away."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from streamviz.policies.shell.commands import UNKNOWN

_HOMES = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|/var/root|~[^/]*)(?=/|\Z)")
# A last part such as `*` or `.[!.]*` stands for everything in the folder.
_ONLY_MARKS = re.compile(r"[*.?!\[\]{},^]+\Z")
# Of a long path only the end says what it is: a whole project may lie in `/home/me/build`.
_NEAR = 3
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


def joined(folder: str, path: str) -> str:
    """A path as it is seen from a folder."""
    if path == "-":
        return UNKNOWN
    if not folder or path.startswith(("/", "~", UNKNOWN)):
        return path
    return f"{folder}/{path}"


def normal(path: str) -> str:
    """A path without `.`, `..`, doubled slashes; home folders are `~`, the project's own folder is empty."""
    is_absolute = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] == UNKNOWN:
            return UNKNOWN
        if part == ".." and parts == ["~"]:
            is_absolute, parts = True, ["home"]
        elif part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and is_absolute):
            parts.append(part)
    text = "/" * is_absolute + "/".join(parts)
    return _HOMES.sub("~", text, count=1) if text.startswith(("/", "~")) else text


def emptied(path: str) -> str:
    """The folder of which `path` means everything: `build/*` and `build/` are `build`."""
    head, slash, last = path.rpartition("/")
    while _ONLY_MARKS.match(last) and last not in ("..",):
        path = head or slash
        head, slash, last = path.rpartition("/")
    return path


def is_vital(path: str) -> bool:
    """Whether nobody may take it away: the root, a folder in it, a home, the project's folder and what is above it,
    and what may turn out to be one of these."""
    path = emptied(normal(path))
    if path in ("", "/", "~", UNKNOWN) or all(part == ".." for part in path.split("/")):
        return True
    return path.startswith("/") and path.count("/") == 1


def is_system(path: str) -> bool:
    """Whether it belongs to the operating system."""
    parts = normal(path).split("/")
    return parts[0] == "" and len(parts) > 1 and any(_may_be(parts[1], name) for name in _SYSTEM)


def is_core(path: str) -> bool:
    """Whether the system does not start, or is not safe, without it."""
    path = normal(path)
    if is_device(path) or not path.startswith("/"):
        return is_device(path)
    names = [*_CORE, *(f"etc/{name}" for name in _CORE_FILES)]
    harmless = path.startswith(("/dev/", "/proc/self/", "/sys/fs/cgroup"))
    return not harmless and any(path[1:] == name or path[1:].startswith(f"{name}/") for name in names)


def is_settings(path: str) -> bool:
    """Whether to write there changes the system: what is in `is_core`, and the folders that programs look in."""
    return is_core(path) or emptied(normal(path)) in ("/etc", "/usr", "/usr/local/bin")


def may_be_key(path: str) -> bool:
    """Whether a path with * or ? in it stands for a file that holds private keys or credentials."""
    glob = normal(path)
    if not _GLOB.search(glob) or len(glob) > _LONGEST_GLOB:
        return False
    return any(glob.count("/") == key.count("/") and fnmatchcase(key, glob) for key in _KEYS)


def is_device(path: str) -> bool:
    """Whether to write there is to write to a disk, memory or the like."""
    path = normal(path)
    name = path.removeprefix("/dev/")
    return (
        name != path
        and name not in _OWN_DEVICES
        and not name.startswith(("fd/", "shm/", "tty", "pts/", "tcp/", "udp/"))
    )


def may_delete(path: str, globs: Sequence[str]) -> bool:
    """Whether an operator allows to delete what is there with all that is in it.

    A glob with a slash in front, or `~`, is of the whole path, and may be in the system's folders. One with none is of
    any part of it.
    """
    if is_vital(path):
        return False
    path = emptied(normal(path))
    if any(fnmatchcase(path, glob) for glob in globs if glob.startswith(("/", "~"))):
        return True
    inside = [glob for glob in globs if not glob.startswith(("/", "~"))]
    return not is_system(path) and any(_is_in(path, glob) for glob in inside)


def _is_in(path: str, glob: str) -> bool:
    if "/" in glob:
        return fnmatchcase(path, glob) or fnmatchcase(path, f"*/{glob}")
    parts = [part for part in path.split("/") if part not in ("", "~", "..", UNKNOWN)]
    return any(fnmatchcase(part, glob) for part in parts[-_NEAR:])


def _may_be(part: str, name: str) -> bool:
    """Whether a part of a path, which may have * in it, is this name."""
    return part.lower() == name.lower() or (bool(_GLOB.search(part)) and fnmatchcase(name, part))
