"""Secrets that are shown once: on a terminal, or else in a file that only its owner can read. No log gets them."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A secret, and the file that it is in; None if the terminal shows it."""

    secret: str
    file: Path | None


def hand_over(secret: str, file: Path) -> HandedOver:
    """Leave the secret to be shown at the terminal that started the program, or write it to `file`, replacing what was
    there.

    Raises OSError if the file cannot be written.
    """
    if has_terminal():
        return HandedOver(secret, None)
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    write_secret(fresh, secret)
    fresh.replace(file)
    return HandedOver(secret, file)


def has_terminal() -> bool:
    """Whether output goes to a person's screen, and not into a file, a pipe or a log."""
    return sys.stdout.isatty()


def write_secret(file: Path, secret: str) -> None:
    """Create the file, for its owner only. Raises OSError if it cannot be created, or exists already."""
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(f"{secret}\n")
