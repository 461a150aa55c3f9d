"""Where sockets of a machine's own can lie: their paths have to be short."""

import os
import tempfile
from pathlib import Path

LONGEST_PATH = 103  # bytes, the least that the systems we run on allow
# What is put behind a folder: one of ours in it, and the socket's name.
_ROOM = 45
_USUAL = "/tmp"  # noqa: S108 (what we make in it is its owner's alone)


def folder() -> Path:
    """The system's folder for what is temporary (`TMPDIR`); the usual one where that leaves a socket no room."""
    found = tempfile.gettempdir()
    return Path(found if len(os.fsencode(found)) + _ROOM <= LONGEST_PATH else _USUAL)
