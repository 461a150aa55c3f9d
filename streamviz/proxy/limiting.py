"""What limits count: what a session, or a key in a stretch of time, has come to; and what streams reserve of that."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from uuid import UUID, uuid5

from streamviz.core.context import SessionCounts
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.worker import Worker
from streamviz.records.tallies import Amounts, OfKey

_KEYS = UUID("9b0f7a52-8a3c-4c0e-8a55-1d0c6d7a4e21")
_BEGINNINGS = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}


async def reserve(
    worker: Worker, stream: LiveStream, policies: Iterable[ActivePolicy], amounts: Callable[[], Amounts]
) -> None:
    """Where a policy depends on totals, get them, and reserve what this stream may add.

    No client waits for a policy in shadow: that uses what this worker knows.
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
    """These, all of it without bound where nobody knows what it costs and somebody has to."""
    found = amounts()
    return Amounts(None, None) if counts_cost and found.cost is None else found


def settle(worker: Worker, stream: LiveStream, spent: SessionCounts) -> None:
    """The stream is over and came to this."""
    for period, tally in stream.reserved.items():
        worker.tallies.settle(tally, stream.id, spent, period)
    stream.reserved.clear()


def add(worker: Worker, stream: LiveStream, spent: SessionCounts) -> None:
    """Add what a stream came to, to what this worker knows."""
    for tally in (stream.session_id, *(tally_of(stream, period) for period in stream.context.of_key)):
        worker.sessions.counts(tally, stream.requested_at).add(spent)


def tally_of(stream: LiveStream, period: str) -> UUID:
    """Under which name is counted what its key does in the hour, day or month (UTC) in which the stream began."""
    return uuid5(_KEYS, f"{stream.key_id}\n{_began(stream, period)}")


def _began(stream: LiveStream, period: str) -> str:
    return datetime.fromtimestamp(stream.requested_at / 1_000_000, UTC).strftime(_BEGINNINGS[period])


def _of_key(stream: LiveStream, period: str) -> OfKey:
    since = datetime.strptime(_began(stream, period), _BEGINNINGS[period]).replace(tzinfo=UTC)
    return OfKey(stream.key_id, period, since)


async def _reserve(
    worker: Worker, stream: LiveStream, tally: UUID, amounts: Amounts, of_key: OfKey | None = None
) -> SessionCounts:
    stream.reserved[of_key.period if of_key else ""] = tally  # even if the answer is not waited for
    return await worker.tallies.reserve(tally, stream.id, amounts, of_key)
