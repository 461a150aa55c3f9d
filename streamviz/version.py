"""Which version of streamviz this is, for whoever runs several at once."""

import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

_CLONE = Path(__file__).resolve().parent.parent
_DIGITS = 9


@cache
def version() -> str:
    """The installed version; in a clone the commit that is checked out, if that can be read."""
    return _commit(_CLONE / ".git") or _installed()


def _installed() -> str:
    try:
        return metadata.version("streamviz")
    except metadata.PackageNotFoundError:
        return str(tomllib.loads((_CLONE / "pyproject.toml").read_text())["project"]["version"])


def _commit(git: Path) -> str:
    try:
        head = (git / "HEAD").read_text().strip()
        named = head.removeprefix("ref: ")
        return (head if named == head else (git / named).read_text().strip())[:_DIGITS]
    except OSError:
        return ""
