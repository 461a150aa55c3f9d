"""Errors that a provider sends as a line of its stream, in place of an event."""

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, encode, objects, value_in
from streamviz.upstream.redaction import told

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
# A refusal, or an error in place of an answer, gives its reason in a few lines.
MOST_OF_AN_ERROR = 16 * 1024


def error_in(line: bytes, key: str = "") -> UpstreamError | None:
    """The error in a line, in the provider's words without `key`, the call's credential; None if there is none.

    LiteLLM's readers would put words of their own around it, or ignore it. They do read the error events of formats
    that have these, so such events are left to them.
    """
    if b'"error' not in line or len(line) > MOST_OF_AN_ERROR:
        return None
    said = next(iter(objects(value_in(line.strip().removeprefix(b"data:")))), {})
    error = _error_of(said)
    if not error or said.get("type") == "error":
        return None
    details = as_object(error)
    words = as_text(error) or as_text(details.get("message")) or encode(error).decode()
    status = status_in(details)
    code = as_text(details.get("code"))
    return UpstreamError(
        status, told(words, key), kind=KINDS.get(status, "upstream_error"), code=told(code, key) if code else None
    )


def status_in(error: JsonObject) -> int:
    """The HTTP status in an error. 502 if it has none, as the answer's own said that all is well, or if it has 500."""
    status = as_index(error.get("code")) or 0
    return status if 400 <= status < 600 and status != 500 else 502


def _error_of(said: JsonObject) -> object:
    """The error in an event, where most providers have it, or where Cohere, vLLM and Databricks do."""
    if error := said.get("error") or as_object(said.get("delta")).get("error"):
        return error
    if said.get("object") == "error":
        return said
    code = said.get("error_code")  # 0 from those that say with each chunk that all is well
    return {"code": code, "message": said.get("message")} if code else None
