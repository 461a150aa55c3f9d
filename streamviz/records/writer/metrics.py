"""Figures of the writer for Prometheus."""

from streamviz.figures import counter, histogram

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

_entries = counter("writer_entries", "Entries of journals that were moved into Postgres")
_rounds = histogram("writer_round_seconds", "How long a round over the journals took that moved something", _SECONDS)
_failures = counter("writer_failures", "Rounds in which Postgres or a journal failed")


def moved(entries: int, seconds: float) -> None:
    """A round is done."""
    if entries:
        _entries.inc(entries)
        _rounds.observe(seconds)


def failed() -> None:
    """A round failed."""
    _failures.inc()
