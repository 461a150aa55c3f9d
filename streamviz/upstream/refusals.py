"""What went wrong in a call of LiteLLM's, in the words of the provider."""

import logging
import os
import re
import traceback
from json import JSONDecodeError

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import as_object, as_text, decode

log = logging.getLogger(__name__)

MOST_CHARACTERS = 2_000
# A shorter text is no credential, and taking it out would spoil words.
SHORTEST_SECRET = 8

# What LiteLLM puts around a provider's words.
_BEFORE = re.compile(r"^(litellm\.)?(\w+Error: )*(\w+Exception - )?")
_BEHIND = re.compile(r"\.? Handle with `litellm\.\w+`\.$")
# What is of the program that failed, not of what went wrong.
_TRACEBACK = re.compile(r"\s*(Traceback \(most recent call last\)|  File \").*", re.DOTALL)
_PATH = re.compile(r"(?<![\w:/.])/(?:[\w.@+-]+/)+[\w.@+-]+|\b[A-Z]:\\[^\s'\"]+")
_CREDENTIAL = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$")


def as_upstream_error(error: Exception, key: str = "") -> UpstreamError:
    """The error with the provider's status, message and `retry-after`, where it gave any.

    `key` is the credential of the call, which no message holds; nor does one hold those of the environment, or a
    traceback.
    """
    # An error in mid-stream comes in a wrapping of LiteLLM's.
    error = getattr(error, "original_exception", None) or error
    if isinstance(error, JSONDecodeError):
        return UpstreamError(502, "upstream sent something that is not JSON")
    status = getattr(error, "status_code", None)
    # The headers of `response` are LiteLLM's own; what the provider sent is here.
    answered = getattr(error, "litellm_response_headers", None) or {}
    headers = {"retry-after": answered["retry-after"]} if "retry-after" in answered else {}
    message = str(getattr(error, "message", None) or str(error) or type(error).__name__)
    if not isinstance(status, int) or not 400 <= status < 600:
        status = 502
    if status >= 500:
        # Where in LiteLLM it happened, without the message, which may quote what a client sent.
        log.warning("LiteLLM: %s at %s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)[-3:]))
    return UpstreamError(status, told(_providers_words(message), key), headers=headers)


def told(message: str, key: str = "") -> str:
    """A message as clients may have it: without tracebacks, paths of this machine and credentials, and not too long."""
    for secret in _secrets(key):
        message = message.replace(secret, "…")
    message = _PATH.sub("…", _TRACEBACK.sub("", message))
    return message[:MOST_CHARACTERS] or "the call failed"


def _secrets(key: str) -> list[str]:
    """This call's credential and those in the environment, the longest first."""
    known = {value for name, value in os.environ.items() if _CREDENTIAL.search(name)} | {key}
    return sorted((value for value in known if len(value) >= SHORTEST_SECRET), key=len, reverse=True)


def _providers_words(message: str) -> str:
    """The message in the error body that LiteLLM quotes, or all that LiteLLM says."""
    quoted = message[message.find("{") : message.rfind("}") + 1]
    try:
        body = as_object(decode(quoted))
    except ValueError:
        body = {}
    words = as_text(as_object(body.get("error")).get("message")) or as_text(body.get("message"))
    return words or _BEHIND.sub("", _BEFORE.sub("", message)) or message
