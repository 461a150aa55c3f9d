"""Telling a client what went wrong, as OpenAI's API would."""

from streamviz.core.errors import ClientFacingError, UpstreamError
from streamviz.core.json_value import encode
from streamviz.core.wire.openai_chat_composer import error_body


def error_answer(error: ClientFacingError) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body. What a provider said in JSON goes on as it said it."""
    if isinstance(error, UpstreamError) and error.body.lstrip()[:1] == b"{":
        return error.status, {"content-type": "application/json", **error.headers}, error.body
    body = encode(error_body(error.message, error.kind, error.code, error.param))
    return error.status, {**error.headers, "content-type": "application/json"}, body
