"""Errors that a provider tells in a line of its stream, where an event would be."""

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, encode, objects, value_in
from streamviz.upstream.redaction import told

# What providers call an error of a status, where they have not told its kind.
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
# A refusal, or an error in an answer's place, says why in a few lines.
MOST_OF_AN_ERROR = 16 * 1024


def error_in(line: bytes, key: str = "") -> UpstreamError | None:
    """The error, in the provider's words without `key`, the call's credential. LiteLLM's readers would quote it, each
    with words of its own around it, or pass over it. They know those of formats that have events for errors."""
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
    """HTTP's, as an error tells it; 502 where it tells none, as the provider's own was that all is well, or 500."""
    status = as_index(error.get("code")) or 0
    return status if 400 <= status < 600 and status != 500 else 502


def _error_of(said: JsonObject) -> object:
    """As most tell it, and as Cohere, vLLM and Databricks do."""
    if error := said.get("error") or as_object(said.get("delta")).get("error"):
        return error
    if said.get("object") == "error":
        return said
    code = said.get("error_code")  # 0 from those that say with each chunk that all is well
    return {"code": code, "message": said.get("message")} if code else None
