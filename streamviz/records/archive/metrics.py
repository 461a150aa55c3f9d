"""Figures of the archive for Prometheus, counted by the writer."""

from streamviz.figures import counter, worst

_objects = counter("archive_objects", "Objects that were written into the archive")
_bytes = counter("archive_bytes", "Bytes of the objects that were written into the archive")
_failures = counter("archive_failures", "Rounds in which the archive could not be seen to")
_behind = worst("archive_behind_seconds", "For how long chunks have been due for the archive that are not in it")


def written(size: int) -> None:
    """An object of so many bytes is stored."""
    _objects.inc()
    _bytes.inc(size)


def failed() -> None:
    """A round failed."""
    _failures.inc()


def look(behind: float) -> None:
    """For how many seconds the oldest chunks have been due."""
    _behind.set(behind)
