"""Separate environments for real clients, with every package pinned, below `var/clients`.

Those for Python are pinned by a complete list, those for Node by exact versions only: npm's lock file would name the
registry that it was made with.
"""

import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.services import ROOT

HERE = Path(__file__).parent
FOLDER = ROOT / "var" / "clients"
UV = Path(sys.executable).parent / "uv"
# For Claude Code and opencode, npm installs a stub, whose install script fetches the program; a package has it too.
COMPLETIONS = {"agents": ("@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs")}


def prepare(name: str) -> Path:
    """The folder with the programs of an environment, created if it is missing or was made from other pins."""
    is_python = (HERE / f"{name}.txt").exists()
    pins = HERE / (f"{name}.txt" if is_python else f"{name}.json")
    folder = FOLDER / name
    made_from = folder / "made-from"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of this test run may need it too
        if not made_from.exists() or made_from.read_bytes() != pins.read_bytes():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (_with_uv if is_python else _with_npm)(name, folder, pins)
            shutil.copyfile(pins, made_from)
    return folder / ("bin" if is_python else "node_modules/.bin")


def version(package: str, name: str) -> str:
    """The version that an environment pins a package to."""
    if (HERE / f"{name}.json").exists():
        pins: dict[str, str] = json.loads((HERE / f"{name}.json").read_text())["dependencies"]
        return pins[package]
    lines = (HERE / f"{name}.txt").read_text().splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{package}=="))


def _with_uv(name: str, folder: Path, pins: Path) -> None:
    _run(UV, "venv", "--quiet", "--allow-existing", "--python", "3.11", folder)
    _run(UV, "pip", "install", "--quiet", "--no-deps", "--python", folder / "bin" / "python", "-r", pins)


def _with_npm(name: str, folder: Path, pins: Path) -> None:
    shutil.copyfile(pins, folder / "package.json")
    _run("npm", "install", "--prefix", folder, "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
    for script in COMPLETIONS.get(name, ()):
        _run("node", folder / "node_modules" / script)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)
