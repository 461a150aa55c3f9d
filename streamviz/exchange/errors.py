"""The errors that clients get when a stream does not end normally."""

from collections.abc import Sequence

from streamviz.core.errors import Cancelled, ClientFacingError, Denied, RequestError, Unavailable, UpstreamError
from streamviz.core.events import MALFORMED_CHUNK, StreamFailed
from streamviz.core.masking import told_text, told_values
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Verdict
from streamviz.records.recorder import CANCELLED

UNASKED = "upstream answered with events to a request that asks for none"
TWOFOLD = "upstream answered with something that can be read as events and as JSON"
UNFINISHED = StreamFailed("upstream closed the stream before it was finished", "upstream_error")
# Longer ones would take too long to be masked.
_LONGEST_ERROR = 20_000


def denial(active: ActivePolicy, verdict: Verdict) -> Denied:
    """The client's error when a policy denied its request."""
    return Denied(verdict.text or f"The request was denied by policy {active.name}.")


def cancellation() -> Cancelled:
    """A person stopped the stream."""
    return Cancelled(CANCELLED)


def revocation() -> RequestError:
    """The key was revoked that the stream was asked for with."""
    return RequestError(401, "The API key was revoked.", kind="authentication_error", code="invalid_api_key")


def stop() -> Unavailable:
    """The server stops, and waits no longer."""
    return Unavailable("streamviz was stopped")


def kept_error(error: ClientFacingError, policies: Sequence[ActivePolicy]) -> ClientFacingError:
    """What may be recorded and told of an error: upstream's quote what they are about, so what policies mask is masked
    in them too, and what they forbid in an answer is left out."""
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
    """Why a whole answer is none."""
    if failure is None or failure.kind == MALFORMED_CHUNK:
        return "upstream answered with something that is not JSON"
    return failure.message


def failed(error: ClientFacingError) -> StreamFailed:
    """The same error, as the end of a stream that has begun."""
    return StreamFailed(error.message, error.kind, error.code or "")
