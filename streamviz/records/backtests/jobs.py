"""Back-tests that a page asked for: run by a process of their own, watched and cancelled through their row."""

import time
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from streamviz.core.errors import PolicyParametersError
from streamviz.records.backtests.figures import Figures
from streamviz.records.backtests.runner import Scope, run
from streamviz.records.columns import clean, clean_json
from streamviz.records.models import Backtest, BacktestState, Stream
from streamviz.records.policies_in_force import scoped_policy
from streamviz.records.scoped_policies import ScopedPolicy

# Advisory locks with this class and a back-test's number: held for as long as its process lives.
LIFE = 0x4254
# So long may it take until a process runs.
STARTING = timedelta(minutes=1)
PROGRESS_SECONDS = 0.5
# Each is two processes, which read the record as fast as they can.
MOST_AT_ONCE = 3
_UNDER_WAY = (BacktestState.WAITING, BacktestState.RUNNING)

_ALIVE = """
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


def run_job(job: Backtest) -> None:
    """Run it to its end, and keep what came of it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [LIFE, job.pk])
    taken = Backtest.objects.filter(pk=job.pk, state=BacktestState.WAITING).update(state=BacktestState.RUNNING)
    if not taken:
        return
    try:
        scoped = scoped_policy(job.policy.name, job)
        if scoped.trouble:
            raise PolicyParametersError(scoped.trouble)
        _keep(job, _run(job, scoped))
    except Exception as error:
        _end(job, BacktestState.FAILED, error=f"{type(error).__name__}: {error}")
        raise
    _end(job, BacktestState.DONE)


def cancel(job: Backtest) -> None:
    """It ends within a batch; what it has found so far stays."""
    _end(job, BacktestState.CANCELLED)


def has_room() -> bool:
    """Whether one more may run beside those whose process is there."""
    called_under_way = list(Backtest.objects.filter(state__in=_UNDER_WAY))
    for job in called_under_way:
        settle(job)
    return sum(job.is_under_way for job in called_under_way) < MOST_AT_ONCE


def settle(job: Backtest) -> None:
    """Say of one that is called under way that it failed, where its process is gone."""
    if not job.is_under_way or _is_alive(job):
        return
    if job.state == BacktestState.RUNNING or timezone.now() - job.created_at > STARTING:
        _end(job, BacktestState.FAILED, error="Its process ended before it was done.")
        job.refresh_from_db()


def _is_alive(job: Backtest) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_ALIVE, [LIFE, job.pk])
        [(is_alive,)] = cursor.fetchall()
    return bool(is_alive)


def _run(job: Backtest, scoped: ScopedPolicy) -> Figures:
    scope = Scope(job.streams, job.since)
    Backtest.objects.filter(pk=job.pk).update(total=scope.size())
    told_at = time.monotonic()

    def go_on(figures: Figures, done: int) -> bool:
        nonlocal told_at
        # To sort all waits costs more the further it is.
        if time.monotonic() - told_at > PROGRESS_SECONDS:
            _keep(job, figures)
            told_at = time.monotonic()
        return Backtest.objects.filter(pk=job.pk, state=BacktestState.RUNNING).exists()

    return run(scoped, job.policy_id, scope, go_on)


@transaction.atomic
def _keep(job: Backtest, figures: Figures) -> None:
    """Without examples of streams that were deleted since it ran over them, or are just now: the row is locked, so that
    whoever deletes one waits and finds its examples."""
    Backtest.objects.select_for_update().filter(pk=job.pk).first()
    there = Stream.objects.filter(pk__in=[each["stream"] for each in figures.examples]).values_list("pk", flat=True)
    known = set(map(str, there))
    # Their reasons may quote what a stream said.
    examples = clean_json([each for each in figures.examples if each["stream"] in known])
    Backtest.objects.filter(pk=job.pk).update(figures=figures.as_json(), examples=examples)


def _end(job: Backtest, state: BacktestState, error: str = "") -> None:
    under_way = Backtest.objects.filter(pk=job.pk, state__in=_UNDER_WAY)
    under_way.update(state=state, error=clean(error), ended_at=timezone.now())
