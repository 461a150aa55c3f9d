"""The operating system's user that the embedded Postgres runs as when streamviz is started by root.

Postgres refuses to run as root. The user made here owns the database folder and nothing else, and is let through
the folders above it by an access control entry of its own, so that no other user can see more than before.
"""

import fcntl
import os
import pwd
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from streamviz.faults import Fault

NAME = "streamviz-postgres"
ACCOUNTS = "/etc/passwd"
USERADD = ("useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin")

ACL_ATTRIBUTE = "system.posix_acl_access"
ACL_VERSION, ACL_ENTRY, ACL_NOBODY = struct.Struct("<I"), struct.Struct("<HHI"), 0xFFFFFFFF
OWNER, USER, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x10, 0x20  # kinds of entry, in the order the kernel wants
SEARCH = 1


def needed_account(say: Callable[[str], None]) -> pwd.struct_passwd | None:
    """The account for Postgres, made on first use; None when this process is not root's and needs no other.

    Raises Fault when the account cannot be made.
    """
    if os.geteuid() != 0:
        return None
    with open(ACCOUNTS) as accounts:
        fcntl.flock(accounts, fcntl.LOCK_EX)  # useradd does not wait for another that runs: it fails
        return _existing() or _made(say)


def _existing() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        return None


def _made(say: Callable[[str], None]) -> pwd.struct_passwd:
    say(f"Creating the system user {NAME}, which runs the embedded Postgres")
    try:
        subprocess.run([*USERADD, NAME], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise Fault(
            f"Postgres does not run as root and the user {NAME} cannot be made. "
            f"Start streamviz as another user, or set DATABASE_URL."
        ) from None
    return pwd.getpwnam(NAME)


def run_as(account: pwd.struct_passwd | None) -> dict[str, Any]:
    """The keyword arguments with which subprocess starts a program as that account."""
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}


def let_reach(path: Path, account: pwd.struct_passwd, say: Callable[[str], None]) -> None:
    """Let the account pass through the folders above `path`, where it cannot yet.

    Raises Fault when a folder stays closed to it.
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
                f"Started by root, Postgres runs as the user {account.pw_name}, which may not use {folder}. "
                f"Run `chmod o+x {folder}`, move the project, start as another user, or set DATABASE_URL."
            )
        say(f"Gave the user {account.pw_name}, and nobody else, access through {folder}")


def _may_use(path: Path, account: pwd.struct_passwd) -> bool:
    return subprocess.run(["test", "-x", path], **run_as(account)).returncode == 0


def _add_passage(folder: Path, uid: int) -> None:
    """Add one entry to the folder's permissions: this user may pass. Raises OSError when that is not possible."""
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
