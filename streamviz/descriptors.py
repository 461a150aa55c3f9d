"""How many files and connections this process may open."""

import os
import resource
import time

# Kept for the journal, the database and pages.
RESERVE = 64
# What a stream needs from its first request on: its connection to upstream, and what opening that takes.
_EACH = 2
_COUNT_SECONDS = 1.0
_OPEN = "/dev/fd"


def raise_limit() -> None:
    """Raise the limit as far as this user may: shells set 1,024 or fewer, which clients soon use up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Descriptors:
    """How many descriptors are left: `count` is called about once a second, and in between they are estimated. Counting
    takes a fifth of a millisecond, which no request should wait for."""

    def __init__(self) -> None:
        self.count()

    def count(self) -> None:
        """Count them anew. May be called from a thread."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._least = min(RESERVE, limit // 4)
        try:
            self._left = limit - len(os.listdir(_OPEN))
        except OSError:  # none is left to list them with
            self._left = 0
        self._counted_at = time.monotonic()

    def why_few(self) -> str:
        """Why no stream may begin, as a clause; empty if one may, which is then accounted for."""
        if self._left - _EACH < self._least and time.monotonic() - self._counted_at >= _COUNT_SECONDS:
            self.count()  # none may be refused only because nobody has counted for long
        if self._left - _EACH < self._least:
            return "too many files and connections are open"
        self._left -= _EACH
        return ""
