"""What went wrong in a call of LiteLLM's, in the words of the provider."""

import logging
import os
import re
import traceback
from collections.abc import Mapping
from json import JSONDecodeError

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import as_object, as_text, decode

log = logging.getLogger(__name__)

MOST_CHARACTERS = 2_000
# A shorter text is no credential, and taking it out would spoil words.
SHORTEST_SECRET = 8

# What clients get of upstream's headers: what its SDKs read. Any other may speak to a browser, of another site.
_PASSED_ON = frozenset(
    "content-type retry-after retry-after-ms request-id x-request-id x-should-retry ratelimit ratelimit-policy"
    " x-amzn-requestid apim-request-id cf-ray".split()
)
_FAMILIES_PASSED_ON = ("openai-", "anthropic-", "x-ratelimit-", "ratelimit-", "x-groq-", "x-simulator-")
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
_BEHIND = re.compile(r"\.? Handle with `litellm\.\w+`\.$")
# What is of the program that failed, not of what went wrong.
_TRACEBACK = re.compile(r"\s*(Traceback \(most recent call last\)|  File \").*", re.DOTALL)
_PATH = re.compile(r"(?<![\w:/.])/(?:[\w.@+-]+/)+[\w.@+-]+|\b[A-Z]:\\[^\s'\"]+")
_CREDENTIAL = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$")


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
    headers = {name: _without_secrets(value, key) for name, value in came.items()}
    headers.pop("content-type", None)
    message = str(getattr(error, "message", None) or str(error) or type(error).__name__)
    if not isinstance(status, int) or not 400 <= status < 600:
        status = 502
    if status >= 500:
        # Where in LiteLLM it happened, without the message, which may quote what a client sent.
        log.warning("LiteLLM: %s at %s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)[-3:]))
    kind = _KINDS.get(status, "upstream_error")
    return UpstreamError(status, told(_providers_words(message), key), kind=kind, headers=headers)


def without(key: str, text: str) -> str:
    """Upstream's words without the credential of the call, which it may quote."""
    return text.replace(key, "***") if len(key) >= SHORTEST_SECRET else text


def told_headers(headers: Mapping[str, str], key: str = "") -> dict[str, str]:
    """Upstream's headers that the client gets: rate limits, request ids, retry-after and the like. `key` is the
    credential of the call."""
    own = {name.lower(): without(key, value) for name, value in headers.items()}
    return {name: value for name, value in own.items() if name in _PASSED_ON or name.startswith(_FAMILIES_PASSED_ON)}


def told(message: str, key: str = "") -> str:
    """A message as clients may have it: without tracebacks, paths of this machine and credentials, and not too long."""
    message = _PATH.sub("…", _TRACEBACK.sub("", _without_secrets(message, key)))
    return message[:MOST_CHARACTERS] or "the call failed"


def _without_secrets(text: str, key: str) -> str:
    for secret in _secrets(key):
        text = text.replace(secret, "…")
    return text


def _secrets(key: str) -> list[str]:
    """This call's credential and those in the environment, the longest first."""
    known = {value for name, value in os.environ.items() if names_credential(name)} | {key}
    return sorted((value for value in known if len(value) >= SHORTEST_SECRET), key=len, reverse=True)


def names_credential(variable: str) -> bool:
    """Whether an environment variable has a credential, by its name."""
    return _CREDENTIAL.search(variable) is not None


def _providers_words(message: str) -> str:
    """The message in the error body that LiteLLM quotes, or all that LiteLLM says."""
    quoted = message[message.find("{") : message.rfind("}") + 1]
    try:
        body = as_object(decode(quoted))
    except ValueError:
        body = {}
    words = as_text(as_object(body.get("error")).get("message")) or as_text(body.get("message"))
    return words or _BEHIND.sub("", _ADVICE.sub(". Leave them out.", _BEFORE.sub("", message))) or message
