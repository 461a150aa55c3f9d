"""What the writer sees to beside its work: partitions made ahead."""

import time
from datetime import UTC, datetime

import psycopg

from streamviz.records.partitions import days_around, make_days

_PARTITIONS_SECONDS = 3600.0


class Upkeep:
    """Does what is due, now and then."""

    def __init__(self) -> None:
        self._partitions_at = float("-inf")

    def tend(self, connection: psycopg.Connection) -> None:
        """Called often; costs nothing while nothing is due. Raises psycopg.Error."""
        now = time.monotonic()
        if now - self._partitions_at >= _PARTITIONS_SECONDS:
            make_days(connection, days_around(datetime.now(UTC)))
            self._partitions_at = now
