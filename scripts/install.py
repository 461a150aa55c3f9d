"""Make .venv and install the pinned packages of one lock file into it: `python3 scripts/install.py run|dev`.

Runs before anything is installed, so it uses the standard library only. Does nothing when the lock file is the one
that was installed last.
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
# One keeps a core busy most of the time; beyond these the network and the disk do not keep up.
MOST_PIPS = 4
# Where making .venv was interrupted, pip is not whole: the list of its files, which comes last, is not there.
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
    """Wait for another that installs: of two at once, as `make run` and `make test`, each would spoil what the other
    has made."""
    with opened(Path(__file__)) as own:
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("streamviz: waiting for another installation to end", flush=True)
            fcntl.flock(own, fcntl.LOCK_EX)
        yield


def opened(own: Path) -> TextIO:
    """To be locked, which some network file systems want to be open for writing. Raises SystemExit where it cannot."""
    try:
        return own.open("r+")
    except OSError as error:
        sys.exit(
            f"streamviz: {ROOT} cannot be written to ({error.strerror}), and .venv is made in it. Clone it into a "
            "folder of your own."
        )


def is_installed(lock: Path) -> bool:
    """Whether it is the lock file that was installed last."""
    noted = note_of(lock)
    return venv_works() and noted.exists() and noted.read_bytes() == lock.read_bytes()


def note_of(lock: Path) -> Path:
    """The copy that says it was installed."""
    return VENV / f"installed-{lock.name}"


def bring_up_to_date(lock: Path) -> None:
    """Install a lock file's packages, into a new .venv where there is none that works."""
    os.umask(0o022)  # the embedded Postgres may run as another user, who must be able to read it
    if not venv_works():
        make_venv()
    install(lock)
    compile_installed()
    shutil.copyfile(lock, note_of(lock))


def venv_works() -> bool:
    """Whether .venv has a Python that starts, is new enough and has the whole of pip."""
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", CHECK], stderr=subprocess.DEVNULL).returncode == 0


def make_venv() -> None:
    print("streamviz: making .venv", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode != 0 or not venv_works():
        sys.exit(f"streamviz: {sys.executable} cannot make a virtual environment{why_no_venv(made.stderr)}")


def why_no_venv(said: str) -> str:
    """What the venv module says, as of a full disk; where it is not whole, as Debian has it, how to have it so."""
    reason = said.strip().rpartition("\n")[2]
    if reason.startswith("Error: [Errno "):  # from the system: of its own command it says no more than that it failed
        return f": {reason.removeprefix('Error: ')}"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f". Install its venv module (on Debian and Ubuntu: apt install python{version}-venv)."


def install(lock: Path) -> None:
    """Run pip, once for each core, and say how far it is. Raises SystemExit with what pip said went wrong."""
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
    """What a lock file says of each package: a line that names it, and indented ones with its hashes."""
    return re.findall(r"^\w.*\n(?:[ \t].*\n)*", lock.read_text(), re.MULTILINE)


def install_part(part: Path) -> list[str]:
    """Run pip on a part of a lock file: what went wrong. The whole is complete, so no dependencies are looked for."""
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-color"]
    command += ["--progress-bar", "off", "--no-compile", "--no-deps", "--require-hashes", "-r", part]
    faults = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            show_progress(line)
            faults += [line.strip()] if line.startswith("ERROR") else []
    return faults or [f"it ended with status {pip.returncode}."] if pip.returncode else []


def compile_installed() -> None:
    """Make the packages' bytecode on all cores: pip takes one, and half a minute. What does not compile is, as some
    packages' templates, not meant to."""
    command = [PYTHON, "-m", "compileall", "-q", "-j", "0", VENV / "lib"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def show_progress(line: str) -> None:
    """Of pip's lines those with a package's name tell a person how far it is."""
    if line.startswith("Collecting "):
        print(f"  {line.split()[1].partition('==')[0]}", end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
