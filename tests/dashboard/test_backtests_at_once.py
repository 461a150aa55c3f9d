"""Back-tests that are started at the same moment."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import connections
from django.test import Client

from streamviz.records.backtests.jobs import MOST_AT_ONCE
from streamviz.records.database import conninfo
from streamviz.records.models import Backtest, Policy
from tests.dashboard.conftest import Cast
from tests.e2e.proxied import until

WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"


@pytest.mark.django_db(transaction=True)
def test_of_two_for_the_last_place_one_starts(cast: Cast, guard: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamviz.dashboard.views.backtests.subprocess.Popen", lambda *_, **__: None)
    for _ in range(MOST_AT_ONCE - 1):
        Backtest.objects.create(policy=guard, **guard.fields())

    def start(client: Client) -> None:
        try:
            client.post("/policies/guard/back-tests/", {"version": 1, "streams": 10})
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool, psycopg.connect(conninfo()) as holder:
        holder.execute("LOCK TABLE records_backtest IN SHARE MODE")  # they can read, but not insert
        starting = [pool.submit(start, cast[name]) for name in ("alice", "administrator")]
        until(lambda: holder.execute(WAITING).fetchone() == (2,))
        holder.rollback()
        for each in starting:
            each.result()
    assert Backtest.objects.count() == MOST_AT_ONCE
