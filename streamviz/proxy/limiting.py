"""What limits count: the totals of a session, or of a key in a period of time, and what streams reserve of them."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from uuid import UUID, uuid5

from streamviz.core.context import SessionCounts
from streamviz.core.outcome import Outcome
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.spending import spent_by
from streamviz.proxy.worker import Worker
from streamviz.records.moments import as_datetime
from streamviz.records.tallies import Amounts, OfKey

_KEYS = UUID("9b0f7a52-8a3c-4c0e-8a55-1d0c6d7a4e21")
_BEGINNINGS = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}


async def reserve(
    worker: Worker, stream: LiveStream, policies: Iterable[ActivePolicy], amounts: Callable[[], Amounts]
) -> None:
    """If a policy depends on totals, get them, and reserve what this stream may add.

    No client waits for a policy in shadow: it gets what this worker knows.
    """
    policies = list(policies)
    enforced = [active.policy for active in policies if active.mode is Mode.ENFORCE]
    most = partial(_known, amounts, counts_cost=any(policy.counts_cost for policy in enforced))
    if any(policy.counts_session for policy in enforced):
        stream.context.session = await _reserve(worker, stream, stream.session_id, most())
    for period in {active.policy.counts_key for active in policies} - {""}:
        tally = tally_of(stream, period)
        counts = worker.sessions.counts(tally, stream.requested_at)
        if any(policy.counts_key == period for policy in enforced):
            counts = await _reserve(worker, stream, tally, most(), _of_key(stream, period))
        stream.context.of_key[period] = counts


def _known(amounts: Callable[[], Amounts], *, counts_cost: bool) -> Amounts:
    """These amounts; unbounded if the cost is unknown and a policy counts it."""
    found = amounts()
    return Amounts(None, None) if counts_cost and found.cost is None else found


def count(worker: Worker, stream: LiveStream) -> None:
    """Add a stream that ended to the totals of its session and its key, and settle its reservations; a denied request
    does not count."""
    is_denied = stream.outcome == Outcome.HALTED and not stream.life.was_forwarded
    spent = SessionCounts() if is_denied else spent_by(stream)
    _add(worker, stream, spent)
    settle(worker, stream, spent)


def settle(worker: Worker, stream: LiveStream, spent: SessionCounts) -> None:
    """Settle the reservations of a stream that is over with what it came to."""
    for period, tally in stream.reserved.items():
        worker.tallies.settle(tally, stream.id, spent, period)
    stream.reserved.clear()


def _add(worker: Worker, stream: LiveStream, spent: SessionCounts) -> None:
    """Add a stream's totals to those that this worker knows."""
    for tally in (stream.session_id, *(tally_of(stream, period) for period in stream.context.of_key)):
        worker.sessions.counts(tally, stream.requested_at).add(spent)


def tally_of(stream: LiveStream, period: str) -> UUID:
    """The id of its key's tally for the hour, day or month (UTC) in which the stream began."""
    return uuid5(_KEYS, f"{stream.key_id}\n{_began(stream, period)}")


def _began(stream: LiveStream, period: str) -> str:
    return as_datetime(stream.requested_at).strftime(_BEGINNINGS[period])


def _of_key(stream: LiveStream, period: str) -> OfKey:
    since = datetime.strptime(_began(stream, period), _BEGINNINGS[period]).replace(tzinfo=UTC)
    return OfKey(stream.key_id, period, since)


async def _reserve(
    worker: Worker, stream: LiveStream, tally: UUID, amounts: Amounts, of_key: OfKey | None = None
) -> SessionCounts:
    stream.reserved[of_key.period if of_key else ""] = tally  # even if the wait below is cancelled
    return await worker.tallies.reserve(tally, stream.id, amounts, of_key)
