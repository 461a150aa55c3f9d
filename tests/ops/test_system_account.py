"""The operating system's user for the embedded Postgres."""

import os
import pwd
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from streamviz.ops import system_account


@pytest.mark.integration
def test_several_may_make_the_account_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several workers or test processes may start on a bare machine: one creates the account, the others find it."""
    name = f"streamviz-test-{os.getpid()}"
    monkeypatch.setattr(system_account, "NAME", name)
    try:
        with ThreadPoolExecutor(8) as threads:
            accounts = list(threads.map(lambda _: system_account.needed_account(lambda said: None), range(8)))
        made = pwd.getpwnam(name) if os.geteuid() == 0 else None
    finally:
        if os.geteuid() == 0:
            subprocess.run(["userdel", name], check=False, capture_output=True)
    assert accounts == [made] * 8
