"""Where paths lead, and whether that is something nobody may delete."""

import re

from streamviz.policies.shell.commands import UNKNOWN

_HOMES = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|/var/root|~[^/]*)(?=/|\Z)")
# A last part such as `*` or `.[!.]*` stands for everything in the folder.
_ONLY_MARKS = re.compile(r"[*.?!\[\]{},^]+\Z")


def joined(folder: str, path: str) -> str:
    """A path relative to a folder."""
    if path == "-":
        return UNKNOWN
    if not folder or path.startswith(("/", "~", UNKNOWN)):
        return path
    return f"{folder}/{path}"


def normal(path: str) -> str:
    """A path without `.`, `..` and doubled slashes; home folders are `~`, the project's own folder is empty."""
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
    """The folder whose whole content `path` means: `build/*` and `build/` are `build`."""
    head, slash, last = path.rpartition("/")
    while _ONLY_MARKS.match(last) and last not in ("..",):
        path = head or slash
        head, slash, last = path.rpartition("/")
    return path


def is_vital(path: str) -> bool:
    """Whether nobody may delete it: the root, a folder in it, a home, the project's folder or one above it, or what may
    turn out to be one of these."""
    path = emptied(normal(path))
    if path in ("", "/", "~", UNKNOWN) or all(part == ".." for part in path.split("/")):
        return True
    return path.startswith("/") and path.count("/") == 1
