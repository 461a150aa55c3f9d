"""Back-tests that a page asked for: each is run by its own process, and watched and cancelled through its row."""

import time
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from streamviz.core.errors import PolicyParametersError
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.backtests.figures import Figures
from streamviz.records.backtests.runner import Scope, run
from streamviz.records.columns import clean, clean_json
from streamviz.records.models import Backtest, BacktestState, Stream
from streamviz.records.policies_in_force import scoped_policy
from streamviz.records.scoped_policies import ScopedPolicy

# Advisory locks of this class with a back-test's number are held for as long as its process lives.
LIFE = 0x4254
# How long a process may take to start.
STARTING = timedelta(minutes=1)
PROGRESS_SECONDS = 0.5
# Each takes two processes, which read the record as fast as they can.
MOST_AT_ONCE = 3
_BEGINNING = 0x4245_4749_4E
_UNDER_WAY = (BacktestState.WAITING, BacktestState.RUNNING)

_ALIVE = """
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


def run_job(job: Backtest) -> None:
    """Run a back-test to its end, and store the result."""
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
        _end(job, BacktestState.FAILED, error=_why(error))
        raise
    _end(job, BacktestState.DONE)


def _why(error: Exception) -> str:
    """What made a back-test fail, in words for people who did not write streamviz."""
    if isinstance(error, PolicyParametersError | ChunksAway):
        said = str(error)
        return f"{said[:1].upper()}{said[1:]}"
    if isinstance(error, DatabaseError):
        # Further lines may quote a row, which models and clients wrote.
        first, _, _ = str(error).partition("\n")
        return f"The database failed: {first}"
    return "It failed because of a fault in streamviz, which the log describes."


def cancel(job: Backtest) -> None:
    """The back-test ends within a batch; what it has found so far stays."""
    _end(job, BacktestState.CANCELLED)


@transaction.atomic
def begun(**fields: Any) -> Backtest | None:
    """A new back-test, which waits for its process; None if MOST_AT_ONCE are under way."""
    with connection.cursor() as cursor:
        # Otherwise two that are started at once could both find room.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_BEGINNING])
    return Backtest.objects.create(**fields) if _has_room() else None


def _has_room() -> bool:
    called_under_way = list(Backtest.objects.filter(state__in=_UNDER_WAY))
    for job in called_under_way:
        settle(job)
    return sum(job.is_under_way for job in called_under_way) < MOST_AT_ONCE


def settle(job: Backtest) -> None:
    """Mark a back-test as failed if it counts as under way but its process is gone."""
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
        # Sorting all waits takes longer as the back-test proceeds.
        if time.monotonic() - told_at > PROGRESS_SECONDS:
            _keep(job, figures)
            told_at = time.monotonic()
        return Backtest.objects.filter(pk=job.pk, state=BacktestState.RUNNING).exists()

    return run(scoped, job.policy_id, scope, go_on)


@transaction.atomic
def _keep(job: Backtest, figures: Figures) -> None:
    """Store the figures, without examples of streams that were deleted since. The row is locked, so that whoever
    deletes a stream at the same time waits and then finds its examples."""
    Backtest.objects.select_for_update().filter(pk=job.pk).first()
    there = Stream.objects.filter(pk__in=[each["stream"] for each in figures.examples]).values_list("pk", flat=True)
    known = set(map(str, there))
    # Reasons may quote what a stream said.
    examples = clean_json([each for each in figures.examples if each["stream"] in known])
    Backtest.objects.filter(pk=job.pk).update(figures=figures.as_json(), examples=examples)


def _end(job: Backtest, state: BacktestState, error: str = "") -> None:
    under_way = Backtest.objects.filter(pk=job.pk, state__in=_UNDER_WAY)
    under_way.update(state=state, error=clean(error), ended_at=timezone.now())
