"""Lines of a provider's stream that are errors, in all the forms that providers use."""

import pytest

from streamviz.upstream.told_errors import MOST_OF_AN_ERROR, error_in

TOLD = {
    'data: {"error":{"message":"out of beans","type":"server_error","code":"beans"}}': (502, "upstream_error", "beans"),
    'data:{"error":{"code":429,"message":"out of beans"}}': (429, "rate_limit_error", None),
    '[{"error": {"code": 503, "message": "out of beans"}}]': (503, "overloaded_error", None),
    '{"error":{"code":500,"message":"out of beans"}}': (502, "upstream_error", None),
    '{"error":"out of beans"}\r\n': (502, "upstream_error", None),
    '{"object":"error","message":"out of beans","code":400}': (400, "invalid_request_error", None),
    '{"error_code":"BEANS","message":"out of beans"}': (502, "upstream_error", "BEANS"),
    '{"type":"message-end","delta":{"finish_reason":"ERROR","error":"out of beans"}}': (502, "upstream_error", None),
}


@pytest.mark.parametrize("line", TOLD)
def test_an_error_keeps_the_providers_words(line: str) -> None:
    error = error_in(line.encode())
    assert error is not None
    assert (str(error), (error.status, error.kind, error.code)) == ("out of beans", TOLD[line])


@pytest.mark.parametrize(
    "line",
    [
        'data: {"choices":[{"delta":{"content":"an \\"error\\": 1"}}]}',
        'data: {"choices":[{"delta":{"content":"x"}}],"error":null}',
        'data: {"choices":[{"delta":{"content":"x"}}],"error_code":0,"error_msg":""}',
        'data: {"type":"error","error":{"type":"overloaded_error","message":"out of beans"}}',
        'data: {"type":"response.failed","response":{"error":{"message":"out of beans"}}}',
        'data: {"error":{"message":"cut',
        'data: {"error":"' + "x" * MOST_OF_AN_ERROR + '"}',
        "event: error",
    ],
)
def test_any_other_line_is_left_to_its_reader(line: str) -> None:
    assert error_in(line.encode()) is None


def test_an_error_does_not_quote_the_calls_credential() -> None:
    error = error_in(b'{"error":{"message":"sk-precious is out of beans"}}', "sk-precious")
    assert str(error) == "… is out of beans"
