"""The system user that the embedded Postgres runs as when streamviz is started by root.

Postgres refuses to run as root. This user owns the database folder and nothing else, and passes through the folders
above it by an access control entry of its own (`passage.py`), so that no other user can see more than before.
"""

import fcntl
import os
import pwd
import subprocess
from collections.abc import Callable
from typing import Any

from streamviz.faults import Fault

NAME = "streamviz-postgres"
ACCOUNTS = "/etc/passwd"
USERADD = ("useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin")


def needed_account(say: Callable[[str], None]) -> pwd.struct_passwd | None:
    """The account for Postgres, created on first use; None if this process is not root's, and so needs no other.

    Raises Fault if the account cannot be created.
    """
    if os.geteuid() != 0:
        return None
    with open(ACCOUNTS) as accounts:
        fcntl.flock(accounts, fcntl.LOCK_EX)  # useradd does not wait for another useradd to finish: it fails
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
            f"Postgres does not run as root and the user {NAME} cannot be created. "
            f"Start streamviz as another user, or set DATABASE_URL."
        ) from None
    return pwd.getpwnam(NAME)


def run_as(account: pwd.struct_passwd | None) -> dict[str, Any]:
    """Arguments with which subprocess starts a program as that account."""
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
