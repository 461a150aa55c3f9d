"""Log records as single lines with no credential in them."""

import logging
import re
import time

# What is kept comes first in each pattern, what is hidden second.
SECRETS = re.compile(
    r"((?:authorization|api[-_]?key)['\"]?\s?[:=,]\s?(?:b?['\"])?(?:bearer\s+)?|bearer\s+|[?&]key=|/sign-in/link/+[^/\s]+/+)"
    r"([^\s'\",&/]+)"
    r"|(/shared/+)([^/\s]{16,})"
    r"|(\w+://[^\s:/@]*:)([^\s@]+)(?=@)"
    r"|(\bs[kv]-)([\w-]{8,})",
    re.IGNORECASE,
)


def redact(line: str) -> str:
    """The line with bearer tokens, API keys, the secrets of sign-in and public links, and passwords in URLs replaced by
    `***`."""
    return SECRETS.sub(lambda found: next(kept for kept in found.groups()[::2] if kept is not None) + "***", line)


class LineFormatter(logging.Formatter):
    """One line a record: time in UTC, level, logger, message; a traceback's lines are joined with ` | `."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).splitlines()
        return redact(" | ".join(line for line in lines if line.strip()))
