"""What went wrong in a call of LiteLLM's, in the words of the provider."""

import logging
import re
import traceback
from json import JSONDecodeError

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import as_object, as_text, decode
from streamviz.upstream.redaction import told, told_headers, without_secrets

log = logging.getLogger(__name__)

# What providers call an error of a status, where LiteLLM has kept the status alone.
_KINDS = {
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

# What LiteLLM puts around a provider's words.
_BEFORE = re.compile(r"^(litellm\.)?(\w+Error: )*(\w+(Exception|Error) - )?")
_ADVICE = re.compile(r"\. To drop these, set `litellm\.drop_params.*", re.DOTALL)
# The conversation, or arguments of a call in it, which LiteLLM quotes where it cannot read them. More is not told.
_QUOTED = re.compile(
    r"(Failed to parse tool call arguments.{0,2000}?\.) Arguments: .*|\nReceived Messages=.*", re.DOTALL
)
_BEHIND = re.compile(r"\.? Handle with `litellm\.\w+`\.$")


def as_upstream_error(error: Exception, key: str = "") -> UpstreamError:
    """The error with the provider's status, message, rate limits and request id, where it gave any.

    `key` is the credential of the call, which no message holds; nor does one hold those of the environment, or a
    traceback.
    """
    # An error in mid-stream comes in a wrapping of LiteLLM's.
    error = getattr(error, "original_exception", None) or error
    if isinstance(error, JSONDecodeError):
        return UpstreamError(502, "upstream sent something that is not JSON")
    status = getattr(error, "status_code", None)
    # The headers of `response` are LiteLLM's own; what the provider sent is here.
    came = told_headers(getattr(error, "litellm_response_headers", None) or {})
    headers = {name: without_secrets(value, key) for name, value in came.items()}
    headers.pop("content-type", None)
    message = str(getattr(error, "message", None) or str(error) or type(error).__name__)
    if not isinstance(status, int) or not 400 <= status < 600:
        status = 502
    if status >= 500:
        # Where in LiteLLM it happened, without the message, which may quote what a client sent.
        log.warning("LiteLLM: %s at %s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)[-3:]))
    kind = _KINDS.get(status, "upstream_error")
    return UpstreamError(status, told(_providers_words(message), key), kind=kind, headers=headers)


def _providers_words(message: str) -> str:
    """The message in the error body that LiteLLM quotes, or what LiteLLM says without what the client said."""
    quoted = message[message.find("{") : message.rfind("}") + 1]
    try:
        body = as_object(decode(quoted))
    except ValueError:
        body = {}
    words = as_text(as_object(body.get("error")).get("message")) or as_text(body.get("message"))
    words = words or _BEHIND.sub("", _ADVICE.sub(". Leave them out.", _BEFORE.sub("", message))) or message
    return _QUOTED.sub(r"\1", words)
