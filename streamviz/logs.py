"""Log records as single lines with no credential in them: as text, or as JSON.

What is logged while a stream is served has its id in JSON. `extra={"fields": {…}}` of a record are members there too.
"""

import json
import logging
import re
import time
from contextvars import ContextVar

# What is kept comes first in each pattern, what is hidden second.
SECRETS = re.compile(
    r"((?:authorization|api[-_]?key)['\"]?\s?[:=,]\s?(?:b?['\"])?(?:bearer\s+)?|bearer\s+|[?&]key=|/sign-in/link/+[^/\s]+/+)"
    r"([^\s'\",&/]+)"
    r"|(/shared/+)([^/\s]{16,})"
    r"|((?<!\w)\w{1,20}://[^\s:/@]{0,200}:)([^\s@]{1,500})(?=@)"
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


_stream: ContextVar[str] = ContextVar("stream", default="")


def about_stream(id: object) -> None:
    """What is logged from now on in this task, and in those that it starts, is about this stream."""
    _stream.set(str(id))


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time in UTC, level, logger, message, process, stream where it is about one, exception."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__()
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        if stream := _stream.get():
            line["stream"] = stream
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: redact(said) if isinstance(said, str) else said for name, said in line.items()})
