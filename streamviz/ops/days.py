"""The `--days` option of commands that look back."""

from argparse import ArgumentParser
from datetime import datetime, timedelta

from django.core.management.base import CommandError
from django.utils import timezone


def add_days(parser: ArgumentParser, help: str) -> None:
    """Add the option."""
    parser.add_argument("--days", type=float, help=help)


def since(days: float | None) -> datetime | None:
    """The time so many days ago; None if no days were given. Raises CommandError if there is no such date."""
    if days is None:
        return None
    try:
        then = timezone.now() - timedelta(days=days)
    except (OverflowError, ValueError):
        then = None
    if then is None or days < 0:
        raise CommandError(f"--days takes a number of days, back to the year 1 at most, not {days:.15g}.")
    return then
