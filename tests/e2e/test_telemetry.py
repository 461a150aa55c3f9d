"""What is exported to a collector about streams, and that a collector that is down costs nothing."""

import json
from collections.abc import Iterator

import pytest
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.proxy.collector import Collector, values
from tests.services import Serving

pytestmark = pytest.mark.slow

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
KNOWN = {
    value
    for module in (gen_ai_attributes, error_attributes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def proxied(serving: Serving, collector: Collector) -> Iterator[Proxied]:
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
    }
    with serving(**told) as server, Proxied(server) as proxied:
        proxied.sign_in()
        yield proxied


def test_a_span_says_what_a_stream_was_and_goes_on_from_its_clients(proxied: Proxied, collector: Collector) -> None:
    proxied.switch("shell-guard", "enforce")
    body = {"model": "sim/dangerous?speed=inf", "messages": MESSAGES, "stream": True, "temperature": 0.5}
    answer = proxied.post(body, x_session_id="traced", traceparent=f"00-{TRACE}-{SPAN}-01")
    assert b"run_shell" not in answer.body

    span = collector.span("chat sim/dangerous?speed=inf", parent=SPAN)
    assert (span.trace_id.hex(), span.kind) == (TRACE, span.SPAN_KIND_CLIENT)
    told = values(span.attributes)
    assert {name for name in told if name not in KNOWN and not name.startswith("streamviz.")} == set()
    recorded = proxied.recorded("traced")
    [(asked, answered)] = proxied.query(
        "SELECT input_tokens, output_tokens FROM records_stream WHERE id = %s", recorded.id
    )
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (asked, answered)
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("chat", "simulator")
    assert told["gen_ai.conversation.id"] == "traced"
    assert (told["gen_ai.request.temperature"], told["gen_ai.request.stream"]) == (0.5, True)
    assert told["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert (
        0 <= told["gen_ai.response.time_to_first_chunk"] <= (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
    )
    assert (told["streamviz.stream"], told["streamviz.outcome"]) == (str(recorded.id), recorded.outcome)
    assert told["streamviz.tool_calls"] == ["run_shell"]
    [message] = json.loads(told["gen_ai.input.messages"])
    assert message == {"role": "user", "parts": [{"type": "text", "content": MESSAGES[0]["content"]}]}
    [said] = json.loads(told["gen_ai.output.messages"])
    assert "tool_call" in [part["type"] for part in said["parts"]]
    assert collector.resource["service.name"] == "streamviz"
    assert collector.resource["deployment.environment.name"] == "test"

    hold = collector.span("hold", parent=span.span_id.hex())
    assert hold.trace_id == span.trace_id
    assert span.start_time_unix_nano <= hold.start_time_unix_nano <= hold.end_time_unix_nano
    assert values(hold.attributes)["streamviz.policies"] == ["shell-guard"]

    [upstream] = proxied.requests_upstream(answer.headers)
    assert upstream["headers"]["traceparent"] == f"00-{TRACE}-{span.span_id.hex()}-01"


def test_what_its_client_does_not_record_is_not_told(proxied: Proxied, collector: Collector) -> None:
    body = {"model": "sim/content?speed=inf&chunks=3", "messages": MESSAGES, "stream": True}
    proxied.post(body, traceparent=f"00-{TRACE}-{SPAN}-00")
    proxied.ask("content?speed=inf&chunks=4", "told later")
    span = collector.span("chat sim/content?speed=inf&chunks=4")
    assert not span.parent_span_id
    assert "chat sim/content?speed=inf&chunks=3" not in {span.name for span in collector.spans}


def test_metrics_have_the_conventions_names(proxied: Proxied, collector: Collector) -> None:
    proxied.ask("error-500?speed=inf", "failed")
    durations = until(
        lambda: [p for p in collector.points("gen_ai.client.operation.duration") if len(p.attributes) == 4]
    )
    assert values(durations[0].attributes)["error.type"] == "500"
    assert {values(point.attributes)["gen_ai.request.model"] for point in durations} == {"other"}
    known = {value for name, value in vars(gen_ai_metrics).items() if name.isupper()}
    assert set(collector.metrics) <= known
    kinds = {values(point.attributes)["gen_ai.token.type"] for point in collector.points("gen_ai.client.token.usage")}
    assert kinds == {"input", "output"}


def test_a_collector_that_is_away_is_in_nobodys_way(proxied: Proxied, collector: Collector) -> None:
    collector.__exit__()
    for n in range(3):
        assert proxied.ask("content?speed=inf&chunks=3", f"away {n}").status == 200
    proxied.server.wait_for("the OpenTelemetry collector accepts no spans")
    assert proxied.ask("content?speed=inf&chunks=3", "away 4").status == 200
    assert proxied.server.output().count("the OpenTelemetry collector accepts no spans") == 1
    assert "Traceback" not in proxied.server.output()
