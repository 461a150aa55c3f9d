"""Figures of streams for Prometheus: counted as each begins and ends, so that a chunk costs nothing more.

Servers that share a port share them too, by way of files (PROMETHEUS_MULTIPROC_DIR). Labels have few values: formats,
outcomes, providers, and the policies that an operator made; never what a client or a model wrote.
"""

from array import array
from bisect import bisect_left
from operator import sub

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from streamviz.exchange.stream import LiveStream

_SECOND = 1_000_000
_FIRST = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120)
_LONG = (0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800)
_GAPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60)
# Of a longer stream the newest chunks, so that its end holds up no other.
_MOST_GAPS = 10_000

registry = CollectorRegistry()


def _counter(name: str, says: str, *labels: str) -> Counter:
    return Counter(f"streamviz_{name}", says, labels, registry=registry)


def _histogram(name: str, says: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(f"streamviz_{name}", says, labels, registry=registry, buckets=bounds)


_begun = _counter("requests", "Requests that became streams", "format")
_running = Gauge(
    "streamviz_streams_running", "Streams under way", ["format"], registry=registry, multiprocess_mode="livesum"
)
_ended = _counter("streams", "Streams that ended", "format", "provider", "outcome")
_seconds = _histogram("stream_seconds", "From the request to the end", _LONG, "format")
_first = _histogram("first_chunk_seconds", "From the request to the first delta", _FIRST, "tape")
_gaps = _histogram("chunk_gap_seconds", "Between chunks", _GAPS, "tape")
_holds = _histogram("hold_seconds", "How long blocks were held", _LONG)
_verdicts = _counter("verdicts", "Verdicts of policies", "policy", "mode", "decision")
_tokens = _counter("tokens", "Tokens, as providers tell or as estimated", "provider", "kind")
_cost = _counter("cost_dollars", "Cost of streams in US dollars", "provider")


def opened(stream: LiveStream) -> None:
    """A stream has begun."""
    _begun.labels(stream.wire_format).inc()
    _running.labels(stream.wire_format).inc()


def closed(stream: LiveStream) -> None:
    """A stream that was opened is over: all is known of it."""
    _running.labels(stream.wire_format).dec()
    _ended.labels(stream.wire_format, stream.provider, stream.outcome).inc()
    ended_at = stream.ended_at or stream.requested_at
    _seconds.labels(stream.wire_format).observe(max(0, ended_at - stream.requested_at) / _SECOND)
    for tape, first, times in (
        ("upstream", stream.upstream_first_at, stream.received_at),
        ("client", stream.client_first_at, stream.passed_at),
    ):
        if first is not None:
            _first.labels(tape).observe(max(0, first - stream.requested_at) / _SECOND)
        _observe_gaps(_gaps.labels(tape), times)
    for hold in stream.context.holds.values():
        _holds.observe(max(0, (hold.ended_at or ended_at) - hold.since) / _SECOND)
    for judgement in stream.context.judgements:
        policy = judgement.policy
        _verdicts.labels(policy.name, policy.mode, judgement.verdict.decision).inc()
    _count_tokens(stream)


def _count_tokens(stream: LiveStream) -> None:
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
            _tokens.labels(stream.provider, kind).inc(number)
    if stream.cost:
        _cost.labels(stream.provider).inc(stream.cost)


def _observe_gaps(histogram: Histogram, times: "array[int]") -> None:
    """All at once: `observe` for each would cost more than the chunk did."""
    newest = times[-_MOST_GAPS:]
    if len(newest) < 2:
        return
    counts = [0] * len(histogram._buckets)
    bounds = [bound * _SECOND for bound in _GAPS]
    for gap in map(sub, newest[1:], newest):
        counts[bisect_left(bounds, gap)] += 1
    for bucket, count in zip(histogram._buckets, counts, strict=True):
        if count:
            bucket.inc(count)
    histogram._sum.inc(max(0, newest[-1] - newest[0]) / _SECOND)
