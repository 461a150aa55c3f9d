"""The running workers, and which policies each of them has in force."""

import json
from typing import NamedTuple

from django.db import connection, models

# Advisory locks of this class with a worker's number are held for as long as that worker lives.
LIFE = 0x5356

_ALIVE = """
SELECT worker.policies FROM records_worker AS worker WHERE EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = worker.id AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


class Worker(models.Model):
    """A server process. `policies` has, by name, the version of each policy that applies to its next request."""

    started_at = models.DateTimeField()
    policies = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"worker {self.pk}"


class Spread(NamedTuple):
    """How many workers have a version in force, and how many there are."""

    having: int
    alive: int

    @property
    def is_everywhere(self) -> bool:
        return self.having == self.alive


def spread_of(name: str, version: int) -> Spread:
    """On how many workers a policy's version is in force."""
    with connection.cursor() as cursor:
        cursor.execute(_ALIVE, [LIFE])
        known = [json.loads(policies) for (policies,) in cursor.fetchall()]
    return Spread(sum(policies.get(name) == version for policies in known), len(known))
