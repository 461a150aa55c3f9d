"""Reports streams to a collector, by OTLP over HTTP. Loaded only if one is set: it needs OpenTelemetry's packages.

A stream's report is put together and sent in separate threads once the stream is over. If the collector is away, only
the log shows it: what the collector does not take is dropped.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import IdGenerator, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation import set_span_in_context

from streamviz.exchange.stream import LiveStream
from streamviz.proxy.telemetry import conventions
from streamviz.proxy.telemetry.contents import Contents, Said
from streamviz.proxy.telemetry.conventions import Step
from streamviz.records.recorder import Recorder
from streamviz.traces import Parent, Trace, new_span, parent_in

log = logging.getLogger(__name__)

# Ended streams waiting to be reported: beyond this number they are not reported.
_MOST_WAITING = 1_000
_TELL_SECONDS = 60.0
# How long the collector gets to take the last spans when the server stops.
_STOP_SECONDS = 3.0
_NANOSECONDS = 1_000
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


class Telemetry:
    """Spans and metrics of this process's streams."""

    def __init__(self, *, has_contents: bool) -> None:
        """`has_contents`: spans include what was said, as far as it may be recorded."""
        named = Resource.create({"service.name": "streamviz"}).merge(OTELResourceDetector().detect())
        self._ids = _Ids()
        self._tracers = TracerProvider(resource=named, id_generator=self._ids, shutdown_on_exit=False)
        self._tracers.add_span_processor(BatchSpanProcessor(_Watched(OTLPSpanExporter())))
        self._tracer = self._tracers.get_tracer("streamviz")
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._metrics = _Metrics(MeterProvider([reader], resource=named, shutdown_on_exit=False))
        self._thread = ThreadPoolExecutor(1, "telemetry")
        self._room = threading.Semaphore(_MOST_WAITING)
        self._has_contents = has_contents
        self._contents: Contents | None = None

    def recorder(self, recorder: Recorder) -> Recorder:
        """The recorder to use instead: it sees everything that is to be kept of streams, and nothing else."""
        if not self._has_contents:
            return recorder
        self._contents = Contents(recorder)
        return self._contents

    def begin(self, header: str) -> Trace:
        """The span of a stream whose request came with this `traceparent`, which may be empty."""
        trace = new_span(parent_in(header))
        sampled = self._tracers.sampler.should_sample(_below(trace.parent), int(trace.trace, 16), "stream")
        return trace._replace(is_sampled=sampled.decision.is_sampled())

    def closed(self, stream: LiveStream, model: str) -> None:
        """Report a stream that is closed. `model` is its model's name in metrics, where names must stay few."""
        said = self._contents.take(stream.id) if self._contents else None
        if conventions.operation_of(stream) and self._room.acquire(blocking=False):
            self._thread.submit(self._tell_all, stream, model, said)

    def tell(self, step: Step, trace: Trace, kind: SpanKind = SpanKind.INTERNAL) -> None:
        """Export a step as a span. `trace` has the ids of that span; for a part of another span, `part_of` makes them.
        Thread-safe."""
        with self._ids.drawn(trace):
            span = self._tracer.start_span(
                step.name, _below(trace.parent), kind, dict(step.attributes), start_time=step.began_at * _NANOSECONDS
            )
        if step.error:
            span.set_attribute("error.type", step.error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(step.ended_at * _NANOSECONDS)

    def stop(self) -> None:
        """Send what is waiting, for some seconds at most. Blocks."""
        ending = threading.Thread(target=self._end, name="telemetry-end", daemon=True)
        ending.start()
        ending.join(_STOP_SECONDS)

    def _end(self) -> None:
        self._thread.shutdown()
        self._tracers.shutdown()
        self._metrics.shutdown()

    def _tell_all(self, stream: LiveStream, model: str, said: Said | None) -> None:
        try:
            self._metrics.count(stream, model)
            if stream.trace is not None and stream.trace.is_sampled:
                self._tell_stream(stream, stream.trace, said)
        except Exception:
            log.exception("stream %s could not be sent to the collector", stream.id)
        finally:
            self._room.release()

    def _tell_stream(self, stream: LiveStream, trace: Trace, said: Said | None) -> None:
        for step in conventions.steps_in(stream):
            self.tell(step, part_of(trace))
        step = conventions.step_of(stream)
        if said is not None:
            step = step._replace(attributes={**step.attributes, **said.attributes()})
        self.tell(step, trace, SpanKind.CLIENT)


def part_of(trace: Trace) -> Trace:
    """The ids of a new span below a stream's."""
    return new_span(Parent(trace.trace, trace.span, trace.is_sampled))._replace(is_sampled=trace.is_sampled)


class _Metrics:
    """The histograms of OpenTelemetry's GenAI conventions."""

    def __init__(self, meters: MeterProvider) -> None:
        self.shutdown = meters.shutdown
        meter = meters.get_meter("streamviz")
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._first_chunk = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk", "s", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=_TOKENS
        )

    def count(self, stream: LiveStream, model: str) -> None:
        """Count a stream that ended."""
        told = {
            "gen_ai.operation.name": conventions.operation_of(stream),
            "gen_ai.provider.name": conventions.provider_of(stream),
            "gen_ai.request.model": model,
        }
        error = conventions.error_of(stream)
        step = conventions.step_of(stream)
        self._duration.record(
            max(0, step.ended_at - step.began_at) / 1_000_000, {**told, "error.type": error} if error else told
        )
        if (seconds := conventions.first_chunk_seconds(stream)) is not None:
            self._first_chunk.record(seconds, told)
        tokens = stream.tokens
        for kind, number in (("input", tokens and tokens.input), ("output", tokens and tokens.output)):
            if number is not None:
                self._tokens.record(number, {**told, "gen_ai.token.type": kind})


class _Ids(IdGenerator):
    """Gives a span the ids that were drawn when it began, and sent upstream."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drawn: Trace | None = None

    @contextmanager
    def drawn(self, trace: Trace) -> Iterator[None]:
        """Use these ids for the span that is started within the context."""
        with self._lock:
            self._drawn = trace
            yield

    def generate_span_id(self) -> int:
        assert self._drawn is not None
        return int(self._drawn.span, 16)

    def generate_trace_id(self) -> int:
        assert self._drawn is not None
        return int(self._drawn.trace, 16)


class _Watched(SpanExporter):
    """Logs, at most once a minute, that the collector accepts nothing."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._told_at = float("-inf")

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS and monotonic() - self._told_at >= _TELL_SECONDS:
            self._told_at = monotonic()
            log.warning("the OpenTelemetry collector accepts no spans; those that it refuses are dropped")
        return result


def _below(parent: Parent | None) -> Context:
    if parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if parent.is_sampled else TraceFlags.DEFAULT)
    context = SpanContext(int(parent.trace, 16), int(parent.span, 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(context), Context())
