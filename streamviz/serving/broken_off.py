"""What the log says of answers that could not be given, or not to their end, through no fault of ours."""

import logging

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError

from streamviz.faults import Fault


class BrokenOff(logging.Filter):
    """Shortens a record about an answer that had to be broken off, as when what is downloaded was deleted, to a warning
    in one sentence: a traceback at ERROR is for what should not happen."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: every record is logged."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Fault | PermissionDenied):
            _shorten(record, f"an answer was broken off: {error}")
        return True


class NotShown(logging.Filter):
    """Does the same for a page that could not be shown because the archive or Postgres is away, or because its user may
    not see it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: every record is logged."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Fault | PermissionDenied | OperationalError | InterfaceError):
            said = record.getMessage()
            _shorten(record, f"{said}: {error}" if str(error) else said)
        return True


def _shorten(record: logging.LogRecord, message: str) -> None:
    record.levelno, record.levelname = logging.WARNING, "WARNING"
    record.msg, record.args, record.exc_info = message, None, None
