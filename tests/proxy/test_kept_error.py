"""Upstream's errors quote what they were sent: what policies mask is masked in them, too."""

from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.masking import told_values
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.exchange.errors import kept_error
from streamviz.policies import build

KEY = "AKIAIOSFODNN7EXAMPLE"


def redacting(mode: Mode = Mode.ENFORCE) -> list[ActivePolicy]:
    return [ActivePolicy(build("redact", {}), "redact", 1, 1, mode)]


def refused(message: str, body: bytes) -> UpstreamError:
    return UpstreamError(401, message, kind="authentication_error", headers={"x-request-id": "r"}, body=body)


def test_what_policies_mask_is_masked_in_an_errors_message_and_body() -> None:
    told = kept_error(refused(f"bad key {KEY}", b'{"error":{"message":"bad key %s"}}' % KEY.encode()), redacting())
    assert isinstance(told, UpstreamError)
    assert (told.status, told.kind, told.headers) == (401, "authentication_error", {"x-request-id": "r"})
    assert told.message == "bad key [api key removed]"
    assert told.body == b'{"error":{"message":"bad key [api key removed]"}}'


def test_what_policies_mask_is_masked_in_an_errors_code_and_parameter() -> None:
    told = kept_error(UpstreamError(400, "bad key", code=KEY, param=KEY), redacting())
    assert (told.message, told.code, told.param) == ("bad key", "[api key removed]", "[api key removed]")


def test_what_has_nothing_in_it_stays_the_same() -> None:
    error = refused("bad key", b"\xff not even text")
    plain = refused("bad key", b'{"error":{"message":"bad key"}}')
    assert kept_error(plain, redacting()) is plain
    assert kept_error(error, []) is error
    shown = refused(KEY, b"")
    assert kept_error(shown, redacting(Mode.SHADOW)) is shown
    ours = RequestError(400, KEY)
    assert kept_error(ours, redacting()) is ours


def test_what_may_not_be_said_in_an_answer_is_not_said_in_an_error() -> None:
    rule = build("text_rule", {"patterns": ["tell nobody"], "action": "halt"})
    policies = [ActivePolicy(rule, "text", 1, 1, Mode.ENFORCE)]
    error = UpstreamError(400, "Please tell nobody.", headers={"request-id": "please tell nobody"}, body=b"tell nobody")
    told = kept_error(error, policies)
    assert isinstance(told, UpstreamError)
    assert (told.message, told.body, told.headers) == ("", b"", {})
    assert kept_error(refused("bad key", b"bad key"), policies).message == "bad key"


def test_of_an_answers_headers_only_those_go_on_that_say_nothing_of_the_kind() -> None:
    headers = {"x-request-id": "r-1", "request-id": KEY, "ratelimit-policy": "100;w=60"}
    told = {"x-request-id": "r-1", "request-id": "[api key removed]", "ratelimit-policy": "100;w=60"}
    assert told_values(headers, redacting()) == told
    answers_only = [ActivePolicy(build("redact", {"in": ["content"]}), "redact", 1, 1, Mode.ENFORCE)]
    assert told_values(headers, answers_only) == {"x-request-id": "r-1", "ratelimit-policy": "100;w=60"}
    assert told_values(headers, redacting(Mode.SHADOW)) == headers


def test_a_body_that_is_too_long_to_be_masked_is_left_out() -> None:
    told = kept_error(refused("no", b"x" * 30_000 + KEY.encode()), redacting())
    assert isinstance(told, UpstreamError)
    assert (told.message, told.body) == ("no", b"")
