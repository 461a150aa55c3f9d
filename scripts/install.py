"""Create .venv and install the pinned packages of one lock file into it: `python3 scripts/install.py run|dev`.

Runs before anything is installed, so it uses the standard library only. Does nothing if the lock file is the one that
was installed last.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LEAST_PYTHON = (3, 11)
# One pip keeps a core busy most of the time; with more than this, network and disk do not keep up.
MOST_PIPS = 4
# If creating .venv was interrupted, pip is incomplete: the list of its files, which is written last, is missing.
CHECK = f"""
import sys
from importlib.metadata import files
sys.exit(sys.version_info < {LEAST_PYTHON} or not files("pip"))
"""


def main(kind: str) -> None:
    """`run` installs what streamviz needs to run, `dev` also what its tests and checks need."""
    if sys.version_info < LEAST_PYTHON:
        sys.exit(f"streamviz: Python {LEAST_PYTHON[0]}.{LEAST_PYTHON[1]} or newer is needed, this is {sys.version}.")
    lock = ROOT / "requirements" / f"{kind}.txt"
    if is_installed(lock):
        return
    with alone():
        if not is_installed(lock):
            bring_up_to_date(lock)


@contextmanager
def alone() -> Iterator[None]:
    """Wait for another installation to finish: two at once, such as `make run` and `make test`, would corrupt each
    other."""
    with opened(Path(__file__)) as own:
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("streamviz: waiting for another installation to end", flush=True)
            fcntl.flock(own, fcntl.LOCK_EX)
        yield


def opened(own: Path) -> TextIO:
    """Open for locking, for writing as some network file systems require. Raises SystemExit if that fails."""
    try:
        return own.open("r+")
    except OSError as error:
        sys.exit(
            f"streamviz: {ROOT} cannot be written to ({error.strerror}), and .venv is made in it. Clone it into a "
            "folder of your own."
        )


def is_installed(lock: Path) -> bool:
    """Whether this lock file is the one that was installed last."""
    noted = note_of(lock)
    return venv_works() and noted.exists() and noted.read_bytes() == lock.read_bytes()


def note_of(lock: Path) -> Path:
    """The copy of a lock file that says that it was installed."""
    return VENV / f"installed-{lock.name}"


def bring_up_to_date(lock: Path) -> None:
    """Install a lock file's packages, into a new .venv if there is no working one."""
    os.umask(0o022)  # the embedded Postgres may run as another user, who must be able to read it
    if not venv_works():
        make_venv()
    install(lock)
    compile_installed()
    shutil.copyfile(lock, note_of(lock))


def venv_works() -> bool:
    """Whether .venv has a Python that starts and is new enough, and a complete pip."""
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", CHECK], stderr=subprocess.DEVNULL).returncode == 0


def make_venv() -> None:
    print("streamviz: making .venv", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode != 0 or not venv_works():
        sys.exit(f"streamviz: {sys.executable} cannot make a virtual environment{why_no_venv(made.stderr)}")


def why_no_venv(said: str) -> str:
    """Why venv failed, in its own words if the system caused it, such as a full disk; otherwise how to install the
    module, which Debian splits off."""
    reason = said.strip().rpartition("\n")[2]
    if reason.startswith("Error: [Errno "):  # from the system; about its own subprocess venv only says that it failed
        return f": {reason.removeprefix('Error: ')}"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f". Install its venv module (on Debian and Ubuntu: apt install python{version}-venv)."


def install(lock: Path) -> None:
    """Run one pip per core and show progress. Raises SystemExit with the errors that pip reported."""
    packages = read_packages(lock)
    print(f"streamviz: installing {len(packages)} packages, which takes a few minutes the first time", flush=True)
    count = min(os.cpu_count() or 1, MOST_PIPS, len(packages))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(count) as pool:
        parts = [Path(folder) / f"{number}.txt" for number in range(count)]
        for number, part in enumerate(parts):
            part.write_text("".join(packages[number::count]))
        faults = [fault for found in pool.map(install_part, parts) for fault in found]
    print(flush=True)
    if faults:
        sys.exit(f"streamviz: pip could not install {lock.relative_to(ROOT)}: {' '.join(faults)}")


def read_packages(lock: Path) -> list[str]:
    """The entry of each package in a lock file: a line with its name, and indented ones with its hashes."""
    return re.findall(r"^\w.*\n(?:[ \t].*\n)*", lock.read_text(), re.MULTILINE)


def install_part(part: Path) -> list[str]:
    """Run pip on a part of a lock file and return its errors. The whole is complete: no dependencies are resolved."""
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-color"]
    command += ["--progress-bar", "off", "--no-compile", "--no-deps", "--require-hashes", "-r", part]
    faults = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            show_progress(line)
            faults += [line.strip()] if line.startswith("ERROR") else []
    return faults or [f"it ended with status {pip.returncode}."] if pip.returncode else []


def compile_installed() -> None:
    """Compile the packages to bytecode on all cores: pip would use one, and half a minute. Files that do not compile,
    such as some packages' templates, are not meant to."""
    command = [PYTHON, "-m", "compileall", "-q", "-j", "0", VENV / "lib"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def show_progress(line: str) -> None:
    """Show the packages' names from pip's output as progress."""
    if line.startswith("Collecting "):
        print(f"  {line.split()[1].partition('==')[0]}", end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
