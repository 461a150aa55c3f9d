"""What clients are told about a failed call."""

import sys

import pytest
from litellm.litellm_core_utils import litellm_logging, secret_redaction

from streamviz.core.errors import UpstreamError
from streamviz.upstream.failures import as_upstream_error
from streamviz.upstream.redaction import told
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated


class Failed(Exception):
    """An error as raised by LiteLLM."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status_code = status_code


LONG = 'Unable to locate credentials\nTraceback (most recent call last):\n  File "/srv/app/x.py", line 3, in f\n    g()'


def test_a_traceback_goes_to_the_log_and_not_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise Failed(LONG)
    except Failed as error:
        told_of = as_upstream_error(error)
    assert told_of.message == "Unable to locate credentials"
    assert "test_failures.py" in caplog.text
    assert "Unable to locate" not in caplog.text


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("cannot open /home/me/.aws/credentials: denied", "cannot open …: denied"),
        ("see https://docs.example.com/a/b for more", "see https://docs.example.com/a/b for more"),
        ("the model a/b is not there, ask for openai/gpt-4o", "the model a/b is not there, ask for openai/gpt-4o"),
        ("x" * 5_000, "x" * 2_000),
        (LONG[LONG.index("\n") :], "the call failed"),
    ],
)
def test_what_is_of_this_machine_is_left_out(message: str, expected: str) -> None:
    assert told(message) == expected


def test_a_message_of_very_many_blanks_is_told_at_once() -> None:
    """Searching for a traceback after each blank would take hours."""
    assert told(f"a{' ' * 1_000_000}b").startswith("a ")
    assert told(f"a{' ' * 1_000_000}Traceback (most recent call last)") == "a"


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_refusal_tells_no_credential(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setenv("SOME_API_KEY", f"sk-environment-1{end}")
    message = as_upstream_error(
        Failed("keys sk-environment-1 and sk-own-22222 were refused", 401), "sk-own-22222"
    ).message
    assert message == "keys … and … were refused"


@pytest.mark.parametrize("end", ["\n", "\\n"], ids=["line", "escaped"])
def test_no_line_of_a_credential_is_told(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setenv(
        "VERTEXAI_CREDENTIALS", end.join(("-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkq", "hkiG9w0B"))
    )
    assert told("no key: MIIEvQIBADANBgkq\nhkiG9w0B") == "no key: …\n…"


def test_a_refusal_keeps_the_providers_words() -> None:
    error = Failed('litellm.BadRequestError: GroqException - {"error": {"message": "Too hot."}}', 400)
    assert (as_upstream_error(error).status, as_upstream_error(error).message) == (400, "Too hot.")


def test_no_advice_is_given_that_a_client_cannot_follow() -> None:
    words = "openai does not support parameters: ['stop'], for model=gpt-5"
    advice = "To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`"
    error = Failed(f"litellm.UnsupportedParamsError: {words}. {advice}", 400)
    assert as_upstream_error(error).message == f"{words}. Leave them out."


def test_what_the_client_sent_is_not_quoted() -> None:
    words = "Failed to parse tool call arguments for tool 'f' (chat). Error: Expecting value: line 1 column 6 (char 5)"
    arguments, messages = '{"a":hunter2', "[{'role': 'user', 'content': 'my Arguments: hunter2'}]"
    parsing = Failed(f"litellm.APIConnectionError: {words}. Arguments: {arguments}", 400)
    whole = Failed(f"litellm.BadRequestError: {words}. Arguments: {arguments}\nReceived Messages={messages}", 400)
    other = Failed(f"litellm.BadRequestError: AnthropicException - No role.\nReceived Messages={messages}", 400)
    assert [as_upstream_error(each).message for each in (parsing, whole, other)] == [f"{words}."] * 2 + ["No role."]


def test_a_provider_may_speak_of_arguments() -> None:
    assert as_upstream_error(Failed('{"error": {"message": "Bad Arguments: a, b"}}', 400)).message == (
        "Bad Arguments: a, b"
    )


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "invalid_request_error"), (429, "rate_limit_error"), (529, "overloaded_error")]
)
def test_a_refusal_keeps_its_kind(status: int, kind: str) -> None:
    error = as_upstream_error(Failed("AnthropicError - Slow down", status))
    assert (error.status, error.kind, error.message) == (status, kind, "Slow down")


def test_a_status_that_litellm_has_no_error_for_stays() -> None:
    """Anthropic's 529: clients wait longer after it than after a 500."""
    try:
        try:
            raise Failed("Overloaded", 529)
        except Failed as answered:
            raise Failed("AnthropicError - Overloaded", 500) from answered
    except Failed as failed:
        error = as_upstream_error(failed)
    assert (error.status, error.kind) == (529, "overloaded_error")


def test_an_error_that_has_led_to_itself_is_told_once() -> None:
    first, second = Failed("Overloaded", 500), Failed("Overloaded", 529)
    first.__context__, second.__cause__ = second, first
    assert as_upstream_error(first).status == 529


def test_of_a_long_error_litellm_reads_the_beginning_alone() -> None:
    """It may quote a whole request, and is searched for credentials several times."""
    told_of = secret_redaction.redact_string(f"Bearer {'a' * 20} {'x ' * 500_000}")
    assert len(told_of) < 5_000
    assert told_of.startswith("REDACTED ")


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # caused by imports at the first call
async def test_to_tell_an_error_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM would block every stream to import a web framework and see that it was no guardrail's error."""
    monkeypatch.delitem(sys.modules, "fastapi.exceptions", raising=False)
    nobody = resolve("x", "openai_chat", RoutePlan("anthropic/claude-x", "http://127.0.0.1:1", key="test"))
    with pytest.raises(UpstreamError, match="could not be reached"):
        await open_translated(nobody, {"messages": [{"role": "user", "content": "Hello"}]}, silence_seconds=30)
    assert "fastapi.exceptions" not in sys.modules


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
async def test_of_a_failed_call_nothing_is_copied_for_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM would copy a long conversation while all other streams wait."""
    copies: list[object] = []
    monkeypatch.setattr(litellm_logging, "get_standard_logging_object_payload", lambda **given: copies.append(given))
    nobody = resolve("x", "openai_chat", RoutePlan("anthropic/claude-x", "http://127.0.0.1:1", key="test"))
    with pytest.raises(UpstreamError, match="could not be reached"):
        await open_translated(nobody, {"messages": [{"role": "user", "content": "Hello"}]}, silence_seconds=30)
    assert copies == []
