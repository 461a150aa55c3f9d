"""Back-tests that a page asked for: run by a process of their own, watched and cancelled through their row."""

from django.utils import timezone

from streamviz.core.errors import PolicyParametersError
from streamviz.records.backtests.figures import Figures
from streamviz.records.backtests.runner import Scope, run
from streamviz.records.models import Backtest, BacktestState
from streamviz.records.standing import ScopedPolicy, scoped_policy


def run_job(job: Backtest) -> None:
    """Run it to its end, and keep what came of it."""
    taken = Backtest.objects.filter(pk=job.pk, state=BacktestState.WAITING).update(state=BacktestState.RUNNING)
    if not taken:
        return
    try:
        scoped = scoped_policy(job.policy.name, job)
        if scoped.trouble:
            raise PolicyParametersError(scoped.trouble)
        figures = _run(job, scoped)
    except Exception as error:
        _end(job, BacktestState.FAILED, error=f"{type(error).__name__}: {error}")
        raise
    _keep(job, figures)
    _end(job, BacktestState.DONE)


def cancel(job: Backtest) -> None:
    """It ends within a batch; what it has found so far stays."""
    _end(job, BacktestState.CANCELLED)


def _run(job: Backtest, scoped: ScopedPolicy) -> Figures:
    scope = Scope(job.streams, job.since)
    Backtest.objects.filter(pk=job.pk).update(total=scope.size())

    def go_on(figures: Figures, done: int) -> bool:
        _keep(job, figures)
        return Backtest.objects.filter(pk=job.pk, state=BacktestState.RUNNING).exists()

    return run(scoped, job.policy_id, scope, go_on)


def _keep(job: Backtest, figures: Figures) -> None:
    Backtest.objects.filter(pk=job.pk).update(figures=figures.as_json(), examples=figures.examples)


def _end(job: Backtest, state: BacktestState, error: str = "") -> None:
    under_way = Backtest.objects.filter(pk=job.pk, state__in=(BacktestState.WAITING, BacktestState.RUNNING))
    under_way.update(state=state, error=error, ended_at=timezone.now())
