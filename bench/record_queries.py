"""How long pages and their queries take on a large record: `DATABASE_URL=… python -m bench.record_queries`.

Runs each of them some tens of times on the data in the database (`manage.py seed_history` makes a history). Prints the
median and the 95th percentile, the CPU time of our process and of Postgres, which varies less on a busy machine, and
any big tables that Postgres scans from beginning to end. Pages are requested as an administrator who is created for
this and deleted at the end. Run it on the machine that has the database.
"""

import argparse
import gc
import os
import random
import re
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import fmean
from typing import Any, NamedTuple

import psutil

BIG = 10_000  # rows, approximately
SCANNED = re.compile(r"Seq Scan on (\w+)")
SIZE = "SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = to_regclass(%s)"
READER = "bench-record-queries"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.record_queries", description=__doc__)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--only", default="", help="those that have this in their names")
    parser.add_argument("--new", action="store_true", help="a connection of its own for each look: no DATABASE_POOL")
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    from bench.record_pages import pages

    # A page would otherwise close the connection at its end, and with it the process whose CPU time is read.
    connection.settings_dict["CONN_MAX_AGE"] = None
    reader, _ = User.objects.get_or_create(username=READER, is_superuser=True)
    client = Client(SERVER_NAME="localhost")
    client.force_login(reader)
    try:
        print("| page or query | median ms | p95 ms | CPU ms | of it Postgres | scans |")
        print("|---|---:|---:|---:|---:|---|")
        for name, run in (pages(client) | _queries()).items():
            if asked.only not in name:
                continue
            run()
            gc.freeze()  # as in the server, what is loaded by now stays loaded
            looks = [_look(run, is_new=asked.new) for _ in range(asked.times)]
            taken = sorted(look.taken for look in looks)
            ours, theirs = fmean(look.ours for look in looks), fmean(look.theirs for look in looks)
            p95 = taken[int(len(taken) * 0.95)]
            scans = ", ".join(_scans(run)) or "-"
            each = f"{taken[len(taken) // 2]:.1f} | {p95:.1f} | {ours + theirs:.0f} | {theirs:.0f} | {scans}"
            print(f"| {name} | {each} |", flush=True)
    finally:
        client.logout()
        reader.delete()


class Look(NamedTuple):
    """How long a page took, and the CPU time of our process and of Postgres, in ms."""

    taken: float
    ours: float
    theirs: float


def _look(run: Callable[[], Any], *, is_new: bool) -> Look:
    from django.db import connection

    if is_new:
        connection.close()
    before = _postgres_seconds(), time.process_time(), time.perf_counter()
    run()
    after = _postgres_seconds(), time.process_time(), time.perf_counter()
    theirs, ours, taken = ((now - then) * 1000 for then, now in zip(before, after, strict=True))
    return Look(taken, ours, theirs)


def _postgres_seconds() -> float:
    """CPU time of the Postgres process that serves our connection."""
    from django.db import connection

    connection.ensure_connection()
    return float(sum(psutil.Process(connection.connection.info.backend_pid).cpu_times()[:2]))


def _scans(run: Callable[[], Any]) -> set[str]:
    """The big tables that a query scans, according to EXPLAIN of each of its statements."""
    from django.db import connection

    found: set[str] = set()

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with connection.cursor().cursor as cursor:
                cursor.execute(f"EXPLAIN {sql}", params)
                names = {name for row in cursor.fetchall() for name in SCANNED.findall(row[0])}
                found.update(name for name in names if cursor.execute(SIZE, [name]).fetchone()[0] >= BIG)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        run()
    return found


def _queries() -> dict[str, Callable[[], Any]]:
    from django.db.models import Max

    from bench.record_pages import stream_of
    from streamviz.dashboard import chunk_queries, queries
    from streamviz.live.presentation.stream_views import view_of_record
    from streamviz.records.models import Session, Stream
    from streamviz.records.queries.filters import Filters
    from streamviz.records.queries.grouping import Grouping
    from streamviz.records.queries.pages import Place, session_page, stream_page
    from streamviz.records.queries.policy_holds import holds
    from streamviz.records.queries.policy_verdicts import verdicts
    from streamviz.records.queries.sources import HALF_HOUR, ORIGIN
    from streamviz.records.queries.statistics import by_time
    from streamviz.records.queries.streams import load

    chance = random.Random(3)  # noqa: S311
    streams = Stream.objects.count()
    newest = Stream.objects.aggregate(Max("requested_at"))["requested_at__max"]
    newest -= (newest - ORIGIN) % HALF_HOUR  # aligned like the pages' time ranges
    day, week, month = (newest - timedelta(days=days) for days in (1, 7, 30))
    long = stream_of(3_100)
    middle = newest - timedelta(days=3)
    sessions = list(Session.objects.order_by("-last_at")[:50])

    def mark() -> str:
        return f"case-{chance.randrange(streams):08d}"

    return {
        "sessions, the newest": lambda: session_page(Filters(), None, 50),
        "sessions, the newest of 24 h": lambda: session_page(Filters(since=day), None, 50),
        "sessions, a page further back": lambda: session_page(Filters(), Place(middle, long.pk), 50),
        "what 50 sessions add up to": lambda: queries.with_totals(sessions),
        "filtered: model": lambda: session_page(Filters(models=("o4-mini",)), None, 50),
        "filtered: a model that there is not": lambda: session_page(Filters(models=("none",)), None, 50),
        "filtered: outcome": lambda: session_page(Filters(outcomes=("upstream_error",)), None, 50),
        "filtered: a policy intervened": lambda: session_page(Filters(intervened=True), None, 50),
        "filtered: tool, of 24 h": lambda: session_page(Filters(tools=("run_shell",), since=day), None, 50),
        "filtered: cost, of a week": lambda: session_page(Filters(least_cost=0.01, since=week), None, 50),
        "search: one stream of all": lambda: session_page(Filters(text=mark()), None, 50),
        "search: a word that all have": lambda: session_page(Filters(text="worker"), None, 50),
        "search: a path": lambda: session_page(Filters(text="src/handler/file.py"), None, 50),
        "search: the beginning of a word": lambda: session_page(Filters(text="hand"), None, 50),
        "search: nothing": lambda: session_page(Filters(text="nowhere to be found"), None, 50),
        "streams, the newest": lambda: stream_page(Filters(), None, 100),
        f"a stream of {long.chunk_count} chunks": lambda: view_of_record(load(long.pk)),
        "200 of its chunks": lambda: chunk_queries.chunk_page(long, long.chunk_count // 2),
        "statistics: 24 h by hour": lambda: by_time(Filters(since=day), timedelta(hours=1)),
        "statistics: a week by 6 h and model": lambda: by_time(Filters(since=week), timedelta(hours=6), Grouping.MODEL),
        "statistics: a month by day": lambda: by_time(Filters(since=month), timedelta(days=1)),
        "statistics: policies, a week": lambda: verdicts(week, newest, timedelta(days=1)),
        "statistics: holds, a week": lambda: holds(week, newest, timedelta(days=7)),
    }


if __name__ == "__main__":
    main()
