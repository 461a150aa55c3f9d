"""Errors in the provider's own words: refusals, and lines that a stream has in place of an event."""

from collections.abc import Mapping

from streamviz.core.error_words import error_of, said_in, with_cause, words_in, words_of
from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, encode
from streamviz.upstream.redaction import told, told_headers, without_secrets

# What providers call an error with this status.
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
# The status of an error that gives only its kind.
_STATUSES = {kind: status for status, kind in reversed(KINDS.items())}
# A refusal, or an error in place of an answer, gives its reason in a few lines.
MOST_OF_AN_ERROR = 16 * 1024
_LONGEST_CODE = 100


def refusal(status: int, body: bytes, headers: Mapping[str, str], key: str = "") -> UpstreamError:
    """The error for a provider's refusal, without `key`, the call's credential."""
    said = said_in(body)
    error = as_object(error_of(said)) or said
    return _as_error(known_status(status), words_of_refusal(status, body, said), error, key, headers)


def known_status(status: int) -> int:
    """The status of a refusal, or 502 for one that no client knows."""
    return status if status < 600 else 502


def words_of_refusal(status: int, body: bytes, said: JsonObject) -> str:
    """Why a provider refused a call: the message in its JSON, which is `said`, or else the whole body, unless that is a
    web page."""
    words = with_cause(words_in(said), error_of(said))
    text = body.decode(errors="replace").strip()
    if not words and text.strip("[]{} ") and not text.startswith("<"):
        words = text
    return words or f"upstream answered {status}"


def error_in(line: bytes, key: str = "") -> UpstreamError | None:
    """The error in a line, in the provider's words without `key`, the call's credential; None if there is none.

    LiteLLM's readers would add their own words, lose its kind, or ignore it.
    """
    if b'"error' not in line or len(line) > MOST_OF_AN_ERROR:
        return None
    error = error_of(said_in(line.strip().removeprefix(b"data:")))
    if not error:
        return None
    details = as_object(error)
    words = with_cause(words_of(error), error) or encode(error).decode()
    return _as_error(status_in(details), words, details, key)


def status_in(error: JsonObject) -> int:
    """The HTTP status in an error, or that of its kind. 502 if it has neither, because the answer's own status said
    that all is well, or if it has 500."""
    status = as_index(error.get("code")) or _STATUSES.get(as_text(error.get("type")), 0)
    return status if 400 <= status < 600 and status != 500 else 502


def _as_error(
    status: int, words: str, error: JsonObject, key: str, headers: Mapping[str, str] | None = None
) -> UpstreamError:
    own = as_text(error.get("type"))
    kind = KINDS.get(status) or (told(own, key) if own.endswith("_error") else "upstream_error")
    code = as_text(error.get("code"))
    came = {name: without_secrets(value, key) for name, value in told_headers(headers or {}).items()}
    came.pop("content-type", None)
    return UpstreamError(
        status, told(words, key), kind=kind, code=told(code, key)[:_LONGEST_CODE] if code else None, headers=came
    )
