"""Where a machine's own sockets can be: their paths have to be short."""

import os
import tempfile
from pathlib import Path

LONGEST_PATH = 103  # in bytes, the least that the systems we run on allow
# Room for what follows the folder: a folder of ours in it, and the socket's name.
_ROOM = 45
_USUAL = "/tmp"  # noqa: S108 (what we make in it is its owner's alone)


def folder() -> Path:
    """The system's folder for temporary files (`TMPDIR`), or the usual one if its path leaves a socket no room."""
    found = tempfile.gettempdir()
    return Path(found if len(os.fsencode(found)) + _ROOM <= LONGEST_PATH else _USUAL)
