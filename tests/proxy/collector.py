"""An OpenTelemetry collector: real HTTP, decoded with OpenTelemetry's own messages."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """A context manager; while it is entered, it accepts exports to `url`."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.metrics: dict[str, list[Any]] = {}
        self.resource: dict[str, Any] = {}
        self._news = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.take(self.path, body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, body: bytes) -> None:
        """Take in an export."""
        with self._news:
            if path == "/v1/traces":
                for of in ExportTraceServiceRequest.FromString(body).resource_spans:
                    self.resource = values(of.resource.attributes)
                    self.spans += [span for scope in of.scope_spans for span in scope.spans]
            else:
                for of in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    for metric in [metric for scope in of.scope_metrics for metric in scope.metrics]:
                        self.metrics[metric.name] = list(metric.histogram.data_points)
            self._news.notify_all()

    def span(self, name: str, parent: str = "") -> Span:
        """The span with this name, once it has arrived; `parent` is hexadecimal."""

        def found() -> list[Span]:
            below = bytes.fromhex(parent)
            return [span for span in self.spans if span.name == name and (not parent or span.parent_span_id == below)]

        with self._news:
            assert self._news.wait_for(found, 60), [span.name for span in self.spans]
            [span] = found()
            return span

    def points(self, metric: str) -> list[Any]:
        """The data points of a metric, once they have arrived."""
        with self._news:
            assert self._news.wait_for(lambda: metric in self.metrics, 60), list(self.metrics)
            return self.metrics[metric]


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as Python values."""
    return {each.key: _value(each.value) for each in attributes}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind or "")
