"""What went wrong in a call of LiteLLM's, in the words of the provider."""

import re
from json import JSONDecodeError

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import as_object, as_text, decode

# What LiteLLM puts around a provider's words.
_BEFORE = re.compile(r"^(litellm\.)?(\w+Error: )*(\w+Exception - )?")
_BEHIND = re.compile(r"\.? Handle with `litellm\.\w+`\.$")


def as_upstream_error(error: Exception) -> UpstreamError:
    """The error with the provider's status, message and `retry-after`, where it gave any."""
    # An error in mid-stream comes in a wrapping of LiteLLM's.
    error = getattr(error, "original_exception", None) or error
    if isinstance(error, JSONDecodeError):
        return UpstreamError(502, "upstream sent something that is not JSON")
    status = getattr(error, "status_code", None)
    # The headers of `response` are LiteLLM's own; what the provider sent is here.
    answered = getattr(error, "litellm_response_headers", None) or {}
    headers = {"retry-after": answered["retry-after"]} if "retry-after" in answered else {}
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    if not isinstance(status, int) or not 400 <= status < 600:
        status = 502
    return UpstreamError(status, _providers_words(str(message)), headers=headers)


def _providers_words(message: str) -> str:
    """The message in the error body that LiteLLM quotes, or all that LiteLLM says."""
    quoted = message[message.find("{") : message.rfind("}") + 1]
    try:
        body = as_object(decode(quoted))
    except ValueError:
        body = {}
    words = as_text(as_object(body.get("error")).get("message")) or as_text(body.get("message"))
    return words or _BEHIND.sub("", _BEFORE.sub("", message)) or message
