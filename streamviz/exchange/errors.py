"""The errors that clients get when a stream does not end normally."""

from collections.abc import Sequence

from streamviz.core.errors import (
    RESET,
    UNFINISHED_STREAM,
    Cancelled,
    ClientFacingError,
    Denied,
    RequestError,
    Unavailable,
    UpstreamError,
)
from streamviz.core.events import MALFORMED_CHUNK, StreamFailed
from streamviz.core.masking import told_text, told_values
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Verdict
from streamviz.records.recorder import CANCELLED

UNASKED = "upstream answered with events to a request that asks for none"
TWOFOLD = "upstream answered with something that can be read as events and as JSON"
UNFINISHED = StreamFailed(UNFINISHED_STREAM, "upstream_error", RESET)
# Masking longer ones would take too long.
_LONGEST_ERROR = 20_000


def denial(active: ActivePolicy, verdict: Verdict) -> Denied:
    """The client's error when a policy denied its request."""
    return Denied(verdict.text or f"The request was denied by policy {active.name}.")


def cancellation() -> Cancelled:
    """The error of a stream that a person stopped."""
    return Cancelled(CANCELLED)


def revocation() -> RequestError:
    """The error of a stream whose API key was revoked."""
    return RequestError(401, "The API key was revoked.", kind="authentication_error", code="invalid_api_key")


def stop() -> Unavailable:
    """The error of a stream that is cut short because the server is stopping."""
    return Unavailable("streamviz was stopped")


def kept_error(error: ClientFacingError, policies: Sequence[ActivePolicy]) -> ClientFacingError:
    """The error as it may be recorded and passed on. Upstream's errors quote what they are about, so what policies mask
    is masked in them too, and what policies forbid in an answer is left out."""
    if not policies or not isinstance(error, UpstreamError):
        return error
    body = error.body.decode("utf-8", "replace")
    words = (error.message, error.kind, error.code or "", error.param or "")
    told = tuple(told_text(each[:_LONGEST_ERROR], policies) for each in words)
    said = told_text(body, policies) if len(body) <= _LONGEST_ERROR else ""
    headers = told_values(error.headers, policies)
    if (told, said, headers) == (words, body, error.headers):
        return error
    message, kind, code, param = told
    kind = kind or "upstream_error"
    return UpstreamError(
        error.status, message, kind=kind, code=code or None, param=param or None, headers=headers, body=said.encode()
    )


def why_unreadable(failure: StreamFailed | None) -> str:
    """Why a whole answer could not be read."""
    if failure is None or failure.kind == MALFORMED_CHUNK:
        return "upstream answered with something that is not JSON"
    return failure.message


def failed(error: ClientFacingError) -> StreamFailed:
    """The same error, as the end of a stream that has begun."""
    return StreamFailed(error.message, error.kind, error.code or "")
