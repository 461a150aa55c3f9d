"""Log records as single lines without credentials: as text, or as JSON.

In JSON, what is logged while a stream is served has the stream's id, and a record's `extra={"fields": {…}}` are members
too.
"""

import json
import logging
import re
import time
from contextvars import ContextVar

# In each alternative the first group is kept, the second is hidden.
SECRETS = re.compile(
    r"((?:authorization|api[-_]?key)['\"]?\s?[:=,]\s?(?:b?['\"])?(?:bearer\s+)?|bearer\s+|[?&]key=|/sign-in/link/+[^/\s]+/+)"
    r"(?!<|bearer\s+<)([^\s'\",&/]+)"  # not the placeholder `<key>` of a message that says where to put a key
    r"|(/shared/+)([^/\s]{16,})"
    r"|((?<!\w)\w{1,20}://[^\s:/@]{0,200}:)([^\s@]{1,500})(?=@)"
    r"|(\bs[kv]-)([\w-]{8,})"
    r"|(\bAIza)([\w-]{20,})"
    r"|(\b(?:gsk_|xai-|hf_|gh[pousr]_))([a-z0-9]{20,})",
    re.IGNORECASE,
)


def redact(line: str) -> str:
    """The line with `***` in place of bearer tokens, API keys, the secrets of sign-in and public links, and passwords
    in URLs."""
    return SECRETS.sub(lambda found: next(kept for kept in found.groups()[::2] if kept is not None) + "***", line)


class LineFormatter(logging.Formatter):
    """One line per record: time in UTC, level, logger, message; a traceback's lines are joined with ` | `."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).splitlines()
        return redact(" | ".join(line for line in lines if line.strip()))


_stream: ContextVar[str] = ContextVar("stream", default="")


def about_stream(id: object) -> None:
    """Mark what is logged from now on, in this task and those that it starts, as being about this stream, or none."""
    _stream.set(str(id))


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time in UTC, level, logger, message, process; the stream and the exception, if any."""

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
