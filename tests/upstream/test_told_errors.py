"""Refusals, and lines of a stream that are errors, in all the forms that providers use."""

import pytest

from streamviz.upstream.told_errors import MOST_OF_AN_ERROR, error_in, refusal

TOLD = {
    'data: {"error":{"message":"out of beans","type":"server_error","code":"beans"}}': (502, "server_error", "beans"),
    'data:{"error":{"code":429,"message":"out of beans"}}': (429, "rate_limit_error", None),
    'data: {"error":{"message":"out of beans","type":"invalid_request_error"}}': (400, "invalid_request_error", None),
    'data: {"type":"error","error":{"type":"overloaded_error","message":"out of beans"}}': (
        503,
        "overloaded_error",
        None,
    ),
    'data: {"type":"error","error":{"type":"api_error","message":"out of beans"}}': (502, "api_error", None),
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
        'data: {"type":"error","code":"server_error","message":"out of beans"}',
        'data: {"type":"response.failed","response":{"error":{"message":"out of beans"}}}',
        'data: {"error":{"message":"cut',
        'data: {"error":"' + "x" * MOST_OF_AN_ERROR + '"}',
        "event: error",
    ],
)
def test_any_other_line_is_left_to_its_reader(line: str) -> None:
    assert error_in(line.encode()) is None


@pytest.mark.parametrize(
    ("raw", "cause"),
    [
        ('"{\\"error\\":{\\"message\\":\\"no beans\\"}}"', ": no beans"),
        ('"[{\\"message\\":\\"no beans\\"}]"', ": no beans"),
        ('{"error":{"message":"no beans"}}', ": no beans"),
        ('"no beans"', ": no beans"),
        ('"<html>no beans</html>"', ""),
        ('""', ""),
        ("7", ""),
    ],
)
def test_what_the_provider_behind_openrouter_said_is_told(raw: str, cause: str) -> None:
    body = f'{{"error":{{"message":"Provider returned error","code":502,"metadata":{{"raw":{raw}}}}}}}'.encode()
    in_mid_stream = error_in(b"data: " + body)
    assert in_mid_stream is not None
    assert [refusal(502, body, {}).message, in_mid_stream.message] == [f"Provider returned error{cause}"] * 2


@pytest.mark.parametrize("message", ["", "no beans", "no beans, try later"])
def test_a_cause_is_told_once_and_stands_alone_if_nothing_else_is_said(message: str) -> None:
    body = f'{{"error":{{"message":"{message}","code":502,"metadata":{{"raw":"no beans"}}}}}}'.encode()
    assert refusal(502, body, {}).message == (message or "no beans")


def test_an_error_does_not_quote_the_calls_credential() -> None:
    error = error_in(b'{"error":{"message":"sk-precious is out of beans"}}', "sk-precious")
    assert str(error) == "… is out of beans"


def test_a_refusal_keeps_the_providers_code() -> None:
    """It tells clients that a conversation is too long, or that the quota is used up."""
    body = b'{"error": {"message": "Too long.", "type": "invalid_request_error", "code": "context_length_exceeded"}}'
    assert refusal(400, body, {}).code == "context_length_exceeded"
    assert refusal(400, b'{"error": {"message": "No.", "code": 400}}', {}).code is None
    assert refusal(400, b'{"object": "error", "message": "No.", "code": "1500"}', {}).code == "1500"


@pytest.mark.parametrize(
    ("status", "own", "kind"),
    [
        *((400, "odd_error", "invalid_request_error"), (529, "", "overloaded_error"), (500, "", "upstream_error")),
        *((402, "billing_error", "billing_error"), (500, "api_error", "api_error"), (500, "Odd", "upstream_error")),
    ],
)
def test_a_refusals_kind_is_its_statuss_or_its_own(status: int, own: str, kind: str) -> None:
    assert refusal(status, f'{{"error": {{"message": "No.", "type": "{own}"}}}}'.encode(), {}).kind == kind


def test_a_refusal_keeps_rate_limits_and_request_ids() -> None:
    answered = {"Retry-After": "7", "x-ratelimit-remaining-requests": "0", "request-id": "req_1"}
    told = refusal(429, b"Slow down", {**answered, "set-cookie": "a=b", "content-type": "text/html"})
    assert told.headers == {name.lower(): value for name, value in answered.items()}


def test_a_refusal_has_no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-environment-1")
    said = "for sk-own-22222 and sk-environment-1"
    body = f'{{"error": {{"message": "{said}", "type": "{said}_error", "code": "{said}"}}}}'.encode()
    told = refusal(500, body, {"x-request-id": said}, "sk-own-22222")
    masked = "for … and …"
    assert (told.message, told.kind, told.code) == (masked, f"{masked}_error", masked)
    assert told.headers == {"x-request-id": masked}
