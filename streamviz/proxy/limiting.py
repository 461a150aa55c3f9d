"""What limits count: the totals of a session, or of a key in a period of time, and what streams reserve of them."""

from collections.abc import Callable, Iterable
from datetime import UTC, timedelta
from uuid import UUID, uuid5

from streamviz.core.context import SessionCounts
from streamviz.core.outcome import Outcome
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import ALL_CALLS, CallScope
from streamviz.core.verdicts import Mode
from streamviz.core.wire import PASSED_THROUGH
from streamviz.exchange.recording import other_names
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.spending import spent_by
from streamviz.proxy.worker import Worker
from streamviz.records.moments import as_datetime
from streamviz.records.tallies import SESSION, Amounts, Entry, Period, Used

_KEYS = UUID("9b0f7a52-8a3c-4c0e-8a55-1d0c6d7a4e21")
_MORE_THAN_A_MONTH = timedelta(days=32)


async def reserve(
    worker: Worker, stream: LiveStream, policies: Iterable[ActivePolicy], amounts: Callable[[], Amounts]
) -> None:
    """If a policy depends on totals, get them, and reserve what this stream may add.

    No client waits for a policy in shadow: it gets what this worker knows.
    """
    counting = [active for active in policies if active.policy.counts_session or active.policy.counts_key]
    for active in counting:
        _know(worker, stream, active)
    enforced = [active for active in counting if active.mode is Mode.ENFORCE]
    if not enforced:
        return
    most = _known(amounts, counts_cost=any(active.policy.counts_cost for active in enforced))
    periods = {period: period_of(stream.requested_at, period) for active in enforced for period in _periods(active)}
    stream.is_entered = True  # even if the wait below is cancelled
    used = await worker.tallies.enter(_entry_of(stream), most, periods)
    context = stream.context
    for active in enforced:
        for period in _periods(active):
            everything = _sum(used, period, ALL_CALLS)
            if period == SESSION:
                context.session = everything
            else:
                context.of_key[period] = everything
            if active.calls != ALL_CALLS:
                context.scoped[active.policy, period] = _sum(used, period, active.calls)


def _periods(active: ActivePolicy) -> list[str]:
    """What a policy depends on: the session, and a period of the key."""
    key = [active.policy.counts_key] if active.policy.counts_key else []
    return [SESSION, *key] if active.policy.counts_session else key


def _sum(used: Iterable[Used], period: str, scope: CallScope) -> SessionCounts:
    total = SessionCounts()
    for each in used:
        if each.period == period and each.counts_for(scope):
            total.add(each.counts)
    return total


def _known(amounts: Callable[[], Amounts], *, counts_cost: bool) -> Amounts:
    """These amounts; unbounded if the cost is unknown and a policy counts it."""
    found = amounts()
    return Amounts(None, None) if counts_cost and found.cost is None else found


def _know(worker: Worker, stream: LiveStream, active: ActivePolicy) -> None:
    """Give a policy what this worker knows, and count the stream for it when it is over."""
    context = stream.context
    for period in _periods(active):
        tally = _tally(stream, period)
        if active.calls != ALL_CALLS:
            tally = uuid5(tally, repr(active.calls))
            context.scoped[active.policy, period] = worker.sessions.counts(tally, stream.requested_at)
        elif period != SESSION:
            context.of_key[period] = worker.sessions.counts(tally, stream.requested_at)
        stream.tallies.add(tally)


def count(worker: Worker, stream: LiveStream) -> None:
    """Add a stream that ended to the totals that this worker knows, and settle what it had reserved; a denied request
    does not count."""
    is_denied = stream.outcome == Outcome.HALTED and not stream.life.was_forwarded
    spent = SessionCounts() if is_denied else spent_by(stream)
    for tally in {stream.session_id, *stream.tallies}:
        worker.sessions.counts(tally, stream.requested_at).add(spent)
    settle(worker, stream, spent)


def settle(worker: Worker, stream: LiveStream, spent: SessionCounts) -> None:
    """Settle what a stream had reserved with what it came to."""
    if stream.is_entered:
        stream.is_entered = False
        worker.tallies.settle(stream.id, stream.session_id, stream.key_id, spent)


def _tally(stream: LiveStream, period: str) -> UUID:
    """The id under which this worker counts the stream's session, or its key in the period in which it began."""
    if period == SESSION:
        return stream.session_id
    return uuid5(_KEYS, f"{stream.key_id}\n{period}\n{period_of(stream.requested_at, period).since}")


def period_of(at: int, period: str) -> Period:
    """The hour, day or month (UTC) of a moment (µs since the epoch); any time for a session."""
    hour = as_datetime(at).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    match period:
        case "hour":
            return Period(hour, hour + timedelta(hours=1))
        case "day":
            day = hour.replace(hour=0)
            return Period(day, day + timedelta(days=1))
        case "month":
            month = hour.replace(day=1, hour=0)
            return Period(month, (month + _MORE_THAN_A_MONTH).replace(day=1))
    return Period()


def _entry_of(stream: LiveStream) -> Entry:
    began_at, is_unread = as_datetime(stream.requested_at), stream.wire_format == PASSED_THROUGH.name
    called = stream.requested_model, stream.provider, stream.upstream_model, other_names(stream)
    return Entry(stream.id, stream.session_id, stream.key_id, began_at, *called, is_unread)
