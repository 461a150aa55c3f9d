"""Figures about streams for Prometheus. They are counted when each stream begins and ends, so that a chunk costs
nothing more, and added to the shared figures twice a second.

Labels have few values: formats, outcomes, providers, the policies and routes that an operator made, and models with a
known price, whose number is limited; never anything that a client or a model wrote.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache
from operator import sub

from prometheus_client import Histogram

from streamviz.exchange.life import State
from streamviz.exchange.stream import LiveStream
from streamviz.figures import Batch, counter, gauge, histogram

_SECOND = 1_000_000
_FIRST = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120)
_LONG = (0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800)
_GAPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60)
_GAPS_US = [round(bound * _SECOND) for bound in _GAPS]
# For a longer stream only its newest chunks count, so that its end does not hold up others.
_MOST_GAPS = 10_000
# The most models with labels of their own, not counting routes.
_MOST_MODELS = 100
OTHER = "other"

# Metrics with labels are cached for each combination: looking one up takes longer than counting, and there are few.
_begun = cache(counter("requests", "Requests that became streams", "format").labels)
_refused = cache(counter("requests_refused", "Requests that did not become streams, by status", "status").labels)
_running = cache(gauge("streams_running", "Running streams", "format", "state").labels)
_held = gauge("blocks_held", "Held blocks")
_asking = gauge("streams_needing_a_person", "Streams waiting for a person")
_ended = cache(counter("streams", "Finished streams", "format", "provider", "model", "outcome").labels)
_seconds = cache(histogram("stream_seconds", "From the request to the end", _LONG, "format").labels)
_first = cache(histogram("first_chunk_seconds", "From the request to the first delta", _FIRST, "tape").labels)
_gaps = cache(histogram("chunk_gap_seconds", "Between chunks", _GAPS, "tape").labels)
_chunks = cache(counter("chunks", "Chunks from upstream and frames to clients", "tape").labels)
_holds = histogram("hold_seconds", "How long blocks were held", _LONG)
_verdicts = cache(counter("verdicts", "Verdicts of policies", "policy", "mode", "decision").labels)
_tokens = cache(counter("tokens", "Tokens, as reported by providers or estimated", "provider", "model", "kind").labels)
_cost = cache(counter("cost_dollars", "Cost of streams in US dollars", "provider", "model").labels)

_batch = Batch()
_models: set[str] = set()
# Formats and states that have a figure already.
_told: set[tuple[str, State]] = set()


def opened(stream: LiveStream) -> None:
    """Count a stream that has begun."""
    _batch.count(_begun(stream.wire_format))


def refused(status: int) -> None:
    """Count a request that did not become a stream."""
    _batch.count(_refused(str(status)))


def look(streams: Sequence[LiveStream]) -> None:
    """Note the states of all streams that run here, and put the counts since the last time with the shared figures."""
    _batch.put()
    states = Counter((stream.wire_format, stream.life.state) for stream in streams)
    for format, state in _told.difference(states):
        _running(format, state.name.lower()).set(0)
    for (format, state), number in states.items():
        _running(format, state.name.lower()).set(number)
    _told.update(states)
    holds = [stream.context.holds for stream in streams if stream.context.holds]
    held = [[hold for hold in each.values() if hold.ended_at is None] for each in holds]
    _held.set(sum(map(len, held)))
    _asking.set(sum(any(hold.is_asking for hold in each) for each in held))


def closed(stream: LiveStream, model: str) -> None:
    """Count an opened stream that is over, once everything is known about it. `model` is its name in labels."""
    provider = stream.provider
    _batch.count(_ended(stream.wire_format, provider, model, stream.outcome))
    ended_at = stream.ended_at or stream.requested_at
    _batch.observe(_seconds(stream.wire_format), max(0, ended_at - stream.requested_at) / _SECOND)
    for tape, first, times in (
        ("upstream", stream.times.upstream_first_at, stream.times.received_at),
        ("client", stream.times.client_first_at, stream.times.passed_at),
    ):
        if first is not None:
            _batch.observe(_first(tape), max(0, first - stream.requested_at) / _SECOND)
        _observe_gaps(_gaps(tape), times)
    _batch.count(_chunks("upstream"), len(stream.times.received_at))
    _batch.count(_chunks("client"), stream.times.frame_count)
    for hold in stream.context.holds.values():
        _batch.observe(_holds, max(0, (hold.ended_at or ended_at) - hold.since) / _SECOND)
    for judgement in stream.context.judgements:
        policy = judgement.policy
        _batch.count(_verdicts(policy.name, policy.mode, judgement.verdict.decision))
    _count_tokens(stream, provider, model)


def model_of(stream: LiveStream, is_route: bool) -> str:
    """A model's name in labels: its route's (`is_route`), which an operator chose, or its provider's. Clients may ask
    for anything, so only a model with a known price gets its own name."""
    if is_route:
        return stream.requested_model
    if stream.cost is not None and (len(_models) < _MOST_MODELS or stream.upstream_model in _models):
        _models.add(stream.upstream_model)
        return stream.upstream_model
    return OTHER


def _count_tokens(stream: LiveStream, provider: str, model: str) -> None:
    tokens = stream.tokens or stream.state.tokens
    kinds = {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_written": tokens.cache_written,
        "reasoning": tokens.reasoning,
    }
    for kind, number in kinds.items():
        if number:
            _batch.count(_tokens(provider, model, kind), number)
    if stream.cost:
        _batch.count(_cost(provider, model), stream.cost)


def _observe_gaps(histogram: Histogram, times: "array[int]") -> None:
    """Observe all gaps together: observing each would cost more than its chunk did."""
    newest = times[-_MOST_GAPS:]
    if len(newest) < 2:
        return
    if newest[0] == newest[-1]:  # all arrived in one read
        _batch.observe_many(histogram, {0: len(newest) - 1}, 0)
        return
    gaps = sorted(map(sub, newest[1:], newest))  # a few searches in the sorted gaps instead of one per gap
    up_to = [bisect_right(gaps, bound) for bound in _GAPS_US]
    numbers = map(sub, [*up_to, len(gaps)], [0, *up_to])
    by_bucket = {place: number for place, number in enumerate(numbers) if number}
    _batch.observe_many(histogram, by_bucket, max(0, newest[-1] - newest[0]) / _SECOND)
