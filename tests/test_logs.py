import json
import logging
import sys
from contextvars import copy_context

import pytest
from django.template import Context, Template

from streamviz.logs import JsonFormatter, LineFormatter, about_stream, redact


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Authorization: Bearer sv-abcdefghij", "Authorization: Bearer ***"),
        ("headers {'x-api-key': 'k-12345', 'accept': '*/*'}", "headers {'x-api-key': '***', 'accept': '*/*'}"),
        ("(b'x-api-key', b'k-12345')", "(b'x-api-key', b'***')"),
        ("401 invalid_api_key '/v1/models'", "401 invalid_api_key '/v1/models'"),
        ("GET /?api_key=abc&model=x", "GET /?api_key=***&model=x"),
        ("Incorrect API key provided: sk-proj-abcdefghijkl.", "Incorrect API key provided: sk-***."),
        ("postgresql://ann:hunter2@db/records", "postgresql://ann:***@db/records"),
        ("redis://:hunter2@redis:6379/0", "redis://:***@redis:6379/0"),
        ("GET /sign-in/link/MQ/abc-def/", "GET /sign-in/link/MQ/***/"),
        (f"Not Found: /shared/{'s3-_' * 10}/", "Not Found: /shared/***/"),
        (f"Not Found: /shared//{'s3-_' * 10}/x.css", "Not Found: /shared//***/x.css"),
        ('File "/srv/shared/app/streamviz/logs.py"', 'File "/srv/shared/app/streamviz/logs.py"'),
        (
            "GET https://g.example/v1beta/models?key=AIza&alt=sse 200",
            "GET https://g.example/v1beta/models?key=***&alt=sse 200",
        ),
        (
            "POST /v1beta/models/m:countTokens?alt=sse&key=abc 404",
            "POST /v1beta/models/m:countTokens?alt=sse&key=*** 404",
        ),
        ("Send one as `Authorization: Bearer <key>`; or", "Send one as `Authorization: Bearer <key>`; or"),
        (f"404 '/AIza{'Sy-_0' * 7}/v1'", "404 '/AIza***/v1'"),
        (f"the model gsk_{'a1' * 26}", "the model gsk_***"),
        ("the model xai-grok-4-1-fast-non-reasoning", "the model xai-grok-4-1-fast-non-reasoning"),
        ("a task-list of 3 streams at http://127.0.0.1:8000/", "a task-list of 3 streams at http://127.0.0.1:8000/"),
    ],
)
def test_credentials_are_hidden(line: str, shown: str) -> None:
    assert redact(line) == shown


def test_a_record_is_one_line_even_with_a_traceback() -> None:
    try:
        raise ValueError("Bearer secret-token\nsecond line")
    except ValueError:
        record = logging.LogRecord("streamviz", logging.ERROR, __file__, 1, "it %s", ("failed",), sys.exc_info())
    line = LineFormatter().format(record)
    assert "\n" not in line
    assert " ERROR streamviz it failed | Traceback" in line
    assert "ValueError: Bearer *** | second line" in line


def test_json_is_one_line_that_names_its_stream_and_hides_credentials() -> None:
    def served() -> str:
        about_stream("019a")
        try:
            raise ValueError("Bearer secret-token\nsecond line")
        except ValueError:
            record = logging.LogRecord("a", logging.ERROR, __file__, 1, 'it "%s"', ("failed\n",), sys.exc_info())
        record.fields = {"status": 401, "path": "/shared/" + "s3-_" * 10}
        return JsonFormatter().format(record)

    line = copy_context().run(served)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["message"], told["level"], told["logger"], told["stream"]) == ('it "failed\n"', "ERROR", "a", "019a")
    assert (told["status"], told["path"]) == (401, "/shared/***")
    assert told["exception"].endswith("ValueError: Bearer ***\nsecond line")
    assert told["time"].endswith("Z")
    outside = logging.LogRecord("a", logging.INFO, __file__, 1, "of no stream", (), None)
    assert "stream" not in json.loads(JsonFormatter().format(outside))


def test_no_detail_of_the_log_has_what_a_page_was_to_show(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "django")
    Template("{{ said.nothing }}").render(Context({"said": "what a client wrote"}))
    assert "what a client wrote" not in caplog.text


@pytest.mark.parametrize("name", ["httpx", "httpx2", "openai._base_client"])
def test_addresses_and_headers_of_calls_are_in_no_log(name: str) -> None:
    """What a provider or an MCP server receives or answers may contain a credential."""
    assert not logging.getLogger(name).isEnabledFor(logging.INFO)
