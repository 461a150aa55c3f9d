"""Prometheus metrics of the writer, and of the archive that it maintains."""

from streamviz.figures import counter, histogram, worst

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

_entries = counter("writer_entries", "Entries of journals that were moved into Postgres")
_rounds = histogram("writer_round_seconds", "How long a round over the journals took that moved something", _SECONDS)
_failures = counter("writer_failures", "Rounds in which Postgres or a journal failed")
_objects = counter("archive_objects", "Objects that were written into the archive")
_bytes = counter("archive_bytes", "Bytes of the objects that were written into the archive")
_archive_failures = counter("archive_failures", "Rounds in which the archive could not be brought up to date")
_behind = worst("archive_behind_seconds", "How long chunks that are due for the archive have been missing from it")


def moved(entries: int, seconds: float) -> None:
    """Count a finished round over the journals."""
    if entries:
        _entries.inc(entries)
        _rounds.observe(seconds)


def failed() -> None:
    """Count a failed round over the journals."""
    _failures.inc()


def archived(size: int) -> None:
    """Count an object of this many bytes as stored."""
    _objects.inc()
    _bytes.inc(size)


def archiving_failed() -> None:
    """Count a failed round of archiving."""
    _archive_failures.inc()


def look_behind(behind: float) -> None:
    """Set for how many seconds the oldest chunks not yet archived have been due."""
    _behind.set(behind)
