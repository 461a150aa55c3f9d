"""How large the database is, for the System panel."""

from typing import NamedTuple

from django.db import OperationalError, connection, transaction
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce

from streamviz.records.models import ArchiveObject
from streamviz.records.queries.rows import rows


class TableSize(NamedTuple):
    """A table with its partitions: bytes with and without its indexes, and roughly how many rows (None: not known
    yet)."""

    name: str
    size: int
    without_indexes: int
    rows: int | None


# Reading a table's size waits for whoever has locked it, and a page must not.
_LOCK_SECONDS = 1
# Reads only the catalogue, which has -1 for a table that has not been analysed yet.
_SIZES = """
SELECT
    root.relname,
    sum(pg_total_relation_size(leaf.oid))::bigint,
    sum(pg_table_size(leaf.oid))::bigint,
    sum(nullif(leaf.reltuples, -1))::bigint
FROM pg_class AS root
CROSS JOIN LATERAL (
    SELECT relid FROM pg_partition_tree(root.oid) WHERE isleaf
    UNION SELECT root.oid WHERE root.relkind = 'r'
) AS tree
JOIN pg_class AS leaf ON leaf.oid = tree.relid
WHERE root.relname LIKE 'records\\_%%' AND root.relkind IN ('r', 'p') AND NOT root.relispartition
GROUP BY 1 ORDER BY 2 DESC
"""


class ArchiveSize(NamedTuple):
    """How many objects the archive has, and their total bytes."""

    objects: int
    size: int


def archive_size() -> ArchiveSize:
    """According to the index; the storage is not asked."""
    found = ArchiveObject.objects.aggregate(objects=Count("id"), size=Coalesce(Sum("size"), 0))
    return ArchiveSize(found["objects"], int(found["size"]))


def table_sizes() -> list[TableSize] | None:
    """The record's tables, the largest first; None if one of them is locked."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
            return [TableSize(*row) for row in rows(_SIZES, {})]
    except OperationalError:
        return None
