"""What the log says of answers that could not be given, or not to their end, through no fault of ours."""

import logging

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http.multipartparser import MultiPartParserError

from streamviz.faults import Fault

_AWAY = (Fault, OperationalError, InterfaceError)
_ASKERS_MISTAKE = (PermissionDenied, SuspiciousOperation, MultiPartParserError)


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
    """Does the same for a page that could not be shown because the archive or Postgres is away, because its user may
    not see it, or because a form is too long or malformed."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: every record is logged."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (*_AWAY, *_ASKERS_MISTAKE)):
            said = record.getMessage()
            _shorten(record, said if str(error) in said else f"{said}: {error}")
        return True


def _shorten(record: logging.LogRecord, message: str) -> None:
    record.levelno, record.levelname = logging.WARNING, "WARNING"
    record.msg, record.args, record.exc_info = message, None, None
