"""How long pages and their queries take on a large record: `DATABASE_URL=… python -m bench.record_queries`.

Asks for each some tens of times, on what the database has (`manage.py seed_history` makes a history), prints the median
and the 95th percentile, the CPU time of ours and of Postgres', which a busy machine changes less, and, where Postgres
reads a big table from its beginning to its end, which. Pages are asked for as an administrator who is made for that and
deleted at the end. Run it on the machine of the database.
"""

import argparse
import os
import random
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote_plus

import psutil

BIG = 10_000  # rows, about
SCANNED = re.compile(r"Seq Scan on (\w+)")
SIZE = "SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = to_regclass(%s)"
VISITOR = "bench-record-queries"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.record_queries", description=__doc__)
    parser.add_argument("--times", type=int, default=30)
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    visitor, _ = User.objects.get_or_create(username=VISITOR, is_superuser=True)
    client = Client(SERVER_NAME="localhost")
    client.force_login(visitor)
    try:
        print("| page or query | median ms | p95 ms | CPU ms | of it Postgres | scans |")
        print("|---|---:|---:|---:|---:|---|")
        for name, run in (_pages(client) | _queries()).items():
            run()
            ours, theirs = time.process_time(), _postgres_seconds()
            taken = sorted(_milliseconds(run) for _ in range(asked.times))
            theirs = (_postgres_seconds() - theirs) * 1000 / asked.times
            cpu = (time.process_time() - ours) * 1000 / asked.times + theirs
            p95 = taken[int(len(taken) * 0.95)]
            scans = ", ".join(_scans(run)) or "-"
            each = f"{taken[len(taken) // 2]:.1f} | {p95:.1f} | {cpu:.0f} | {theirs:.0f} | {scans}"
            print(f"| {name} | {each} |", flush=True)
    finally:
        client.logout()
        visitor.delete()


def _milliseconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def _postgres_seconds() -> float:
    """CPU time of the process that answers us."""
    from django.db import connection

    connection.ensure_connection()
    return float(sum(psutil.Process(connection.connection.info.backend_pid).cpu_times()[:2]))


def _scans(run: Callable[[], Any]) -> set[str]:
    """The big tables that a query scans, found by having each of its statements explained."""
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


def _pages(client: Any) -> dict[str, Callable[[], Any]]:
    """Pages as Django answers for them, from its middleware to the last byte, and what they have brought afterwards."""
    from streamviz.records.models import Stream

    long = _long_stream()
    chance = random.Random(4)  # noqa: S311
    streams = Stream.objects.count()
    label = Stream.objects.order_by("requested_at")[streams // 2].session.label
    asked: dict[str, Callable[[], str]] = {
        "of 24 h": lambda: "range=24h",
        "of all time": lambda: "range=all",
        "of a model": lambda: "range=all&q=model:o4-mini",
        "by outcome, tool and cost": lambda: "range=all&q=outcome:upstream_error+tool:run_shell+cost:0.001",
        "in which a policy intervened": lambda: "range=all&q=intervened:yes",
        "judged by a policy": lambda: "range=all&q=policy:shell-guard",
        "with a star": lambda: "range=all&q=starred:yes",
        "with a label": lambda: "range=all&q=" + quote_plus(f'session:"{label}"'),
        "by a cost that none has": lambda: "range=all&q=cost:1000",
        "by a tool": lambda: "range=all&q=tool:run_shell",
        "of a week, with nothing that matches": lambda: "range=7d&q=finish_reason:none",
        "a search for a model": lambda: "range=all&q=o4-mini",
        "a search for one stream": lambda: f"range=all&q=case-{chance.randrange(streams):08d}",
        "a search for a common word": lambda: "range=all&q=worker",
    }
    others: dict[str, Callable[[], str]] = {
        "page: stats of 1 h": lambda: "/stats/?range=1h",
        "page: stats of 24 h": lambda: "/stats/?range=24h",
        "page: stats of a week by key": lambda: "/stats/?range=7d&by=key",
        "page: stats of a month by model": lambda: "/stats/?range=30d",
        "page: stats of a month by session": lambda: "/stats/?range=30d&by=session",
        "page: a session": lambda: f"/sessions/{long.session_id}/",
        f"page: a stream of {long.chunk_count:,} chunks": lambda: f"/streams/{long.pk}/",
        "page: 200 of its chunks": lambda: f"/streams/{long.pk}/chunks/?from=1400",
        "page: system": lambda: "/system/",
    }

    def ask(path: str, query: Callable[[], str], **headers: str) -> None:
        status = client.get(path + query(), headers=headers).status_code
        assert status == 200, status

    sessions = {f"page: sessions {name}": partial(ask, "/sessions/?", query) for name, query in asked.items()}
    histograms = {
        f"histogram: sessions {name}": partial(ask, "/sessions/histogram/?", query, **{"HX-Request": "true"})
        for name, query in asked.items()
    }
    return {**sessions, **histograms, **{name: partial(ask, "", path) for name, path in others.items()}}


def _long_stream() -> Any:
    """One of about 3,000 chunks, or of as many as there are."""
    from streamviz.records.models import Stream

    found = Stream.objects.filter(chunk_count__lte=3_100).order_by("-chunk_count").first()
    assert found is not None
    return found


def _queries() -> dict[str, Callable[[], Any]]:
    from django.db.models import Max

    from streamviz.dashboard import queries
    from streamviz.live.presentation.stream_views import view_of_record
    from streamviz.records.models import Session, Stream
    from streamviz.records.queries.filters import Filters
    from streamviz.records.queries.pages import Place, session_page, stream_page
    from streamviz.records.queries.sources import HALF_HOUR, ORIGIN
    from streamviz.records.queries.statistics import Grouping, by_time, holds, policies_by_time
    from streamviz.records.queries.streams import load

    chance = random.Random(3)  # noqa: S311
    streams = Stream.objects.count()
    newest = Stream.objects.aggregate(Max("requested_at"))["requested_at__max"]
    newest -= (newest - ORIGIN) % HALF_HOUR  # as the pages' stretches of time begin
    day, week, month = (newest - timedelta(days=days) for days in (1, 7, 30))
    long = _long_stream()
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
        "200 of its chunks": lambda: queries.chunk_page(long, long.chunk_count // 2),
        "statistics: 24 h by hour": lambda: by_time(Filters(since=day), timedelta(hours=1)),
        "statistics: a week by 6 h and model": lambda: by_time(Filters(since=week), timedelta(hours=6), Grouping.MODEL),
        "statistics: a month by day": lambda: by_time(Filters(since=month), timedelta(days=1)),
        "statistics: policies, a week": lambda: policies_by_time(week, datetime.now(UTC), timedelta(days=1)),
        "statistics: holds, a week": lambda: holds(week, datetime.now(UTC)),
    }


if __name__ == "__main__":
    main()
