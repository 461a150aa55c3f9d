"""What the log says of answers that had to be broken off."""

import logging

from django.core.exceptions import PermissionDenied

from streamviz.faults import Fault


class BrokenOff(logging.Filter):
    """Shortens a record about an answer that had to be broken off, as when what is downloaded was deleted, to a warning
    in one sentence: a traceback at ERROR is for what should not happen."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: every record is logged."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Fault | PermissionDenied):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args, record.exc_info = "an answer was broken off: %s", (error,), None
        return True
