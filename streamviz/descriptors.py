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
    """How many descriptors are left, counted about once a second and estimated in between."""

    def __init__(self) -> None:
        self._counted_at = float("-inf")
        self._left = self._least = 0

    def why_few(self) -> str:
        """Why no stream may begin, as a clause; empty if one may, which is then accounted for."""
        now = time.monotonic()
        if now - self._counted_at >= _COUNT_SECONDS:
            self._counted_at = now
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            self._least = min(RESERVE, limit // 4)
            self._left = limit - len(os.listdir(_OPEN))
        if self._left - _EACH < self._least:
            return "too many files and connections are open"
        self._left -= _EACH
        return ""
