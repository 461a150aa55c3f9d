"""Make many streams from few, for trials with millions: copies of a made-up history, without chunks."""

from collections.abc import Callable, Mapping

import psycopg

from streamviz.records.multiplying_statements import COLUMNS, COPIES, HALF_HOURS, SESSIONS, copied_value
from streamviz.records.partitions import PARTITIONS, STREAMS, Partition, key_of


def multiply(connection: psycopg.Connection, copies: int, say: Callable[[str], None]) -> None:
    """Store this many copies of each stream, a partition at a time: its tables are rebuilt, their indexes last."""
    found = [Partition(*row) for row in connection.execute(PARTITIONS, {"tables": list(STREAMS)})]
    spans = {(each.first, each.behind) for each in found if each.has_streams}
    for span in sorted(spans, key=lambda each: each[1]):
        tables = {each.table: each.name for each in found if (each.first, each.behind) == span}
        if connection.execute(f"SELECT 1 FROM {tables['records_stream']} LIMIT 1").fetchone():  # noqa: S608
            _multiply(connection, tables, copies)
            say(f"{tables['records_stream']}: each stream {copies + 1:,} times")


def _multiply(connection: psycopg.Connection, tables: Mapping[str, str], copies: int) -> None:
    with connection.transaction():
        child = tables["records_stream"]
        connection.execute(COPIES.format(child=child).replace("%(copies)s", str(copies)))
        connection.execute("CREATE UNIQUE INDEX ON copy (id); CREATE INDEX ON copy (old); ANALYZE copy")
        for table, name in tables.items():
            _grow(connection, table, name)
        connection.execute(SESSIONS.format(child=child))
        connection.execute(HALF_HOURS.format(child=child))


def _grow(connection: psycopg.Connection, table: str, child: str) -> None:
    columns = [name for (name,) in connection.execute(COLUMNS, [table])]
    quoted = [f'"{name}"' for name in columns]
    values = ", ".join(copied_value(name) for name in columns)
    [(bound, options)] = connection.execute(
        "SELECT pg_get_expr(relpartbound, oid), 'WITH (' || array_to_string(reloptions, ', ') || ')'"
        " FROM pg_class WHERE oid = %s::regclass",
        [child],
    )
    connection.execute(f"CREATE TABLE more (LIKE {table} INCLUDING ALL EXCLUDING INDEXES) {options or ''}")
    connection.execute(
        f"INSERT INTO more ({', '.join(quoted)}) SELECT {', '.join(quoted)} FROM {child}"  # noqa: S608
        f" UNION ALL SELECT {values} FROM copy JOIN {child} AS one ON one.{key_of(table)} = copy.old"
    )
    connection.execute(f"ALTER TABLE {table} DETACH PARTITION {child}; DROP TABLE {child}")
    connection.execute(f"ALTER TABLE more RENAME TO {child}")
    connection.execute(f"ALTER TABLE {table} ATTACH PARTITION {child} {bound}")
