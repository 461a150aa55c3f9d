"""Let the user that Postgres runs as, and nobody else, pass through the folders above its data."""

import os
import pwd
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from streamviz.faults import Fault
from streamviz.ops.system_account import run_as

ACL_ATTRIBUTE = "system.posix_acl_access"
ACL_VERSION, ACL_ENTRY, ACL_NOBODY = struct.Struct("<I"), struct.Struct("<HHI"), 0xFFFFFFFF
OWNER, USER, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x10, 0x20  # kinds of entry, in the order the kernel wants
SEARCH = 1


def let_reach(path: Path, account: pwd.struct_passwd, say: Callable[[str], None]) -> None:
    """Let the account pass through the folders on the way to `path`, and `path` itself, where it cannot yet.

    Raises Fault if a folder stays closed to it.
    """
    if _may_use(path, account):
        return
    for folder in [*reversed(path.parents), path]:
        if _may_use(folder, account):
            continue
        with suppress(OSError, AttributeError):  # a filesystem, or a system, without access control lists
            _add_passage(folder, account.pw_uid)
        if not _may_use(folder, account):
            raise Fault(
                f"Started by root, Postgres runs as the user {account.pw_name}, which cannot access {folder}. "
                f"Run `chmod o+x {folder}`, move the project, start as another user, or set DATABASE_URL."
            )
        say(f"Gave the user {account.pw_name}, and nobody else, access through {folder}")


def _may_use(path: Path, account: pwd.struct_passwd) -> bool:
    return subprocess.run(["test", "-x", path], **run_as(account)).returncode == 0


def _add_passage(folder: Path, uid: int) -> None:
    """Add one entry to the folder's permissions: this user may pass. Raises OSError if that is not possible."""
    if ACL_ATTRIBUTE in os.listxattr(folder):
        raise OSError("the folder has an access control list already, which is left as it is")
    mode = folder.stat().st_mode
    owner, group, other = (mode >> 6) & 7, (mode >> 3) & 7, mode & 7
    entries = [
        (OWNER, owner, ACL_NOBODY),
        (USER, SEARCH, uid),
        (GROUP, group, ACL_NOBODY),
        (MASK, group | SEARCH, ACL_NOBODY),
        (OTHER, other, ACL_NOBODY),
    ]
    os.setxattr(folder, ACL_ATTRIBUTE, ACL_VERSION.pack(2) + b"".join(ACL_ENTRY.pack(*entry) for entry in entries))
