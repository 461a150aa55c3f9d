"""Every error that streamviz raises on purpose.

StreamvizError
├── AggregationError          an aggregator was used out of turn
│   ├── AlreadyComplete       a chunk after the end of input, or after build()
│   └── NothingAggregated     build() before any chunk
├── IllegalTransition         a block or a stream was moved to a state that its present state does not lead to
├── PolicyParametersError     parameters that a policy's kind does not accept
└── ClientFacingError         what the client gets, in its own wire format
    ├── RequestError          the request was at fault (4xx)
    │   ├── Denied            a policy denied it, or a call of the run that it asked for
    │   └── Cancelled         a person stopped it, or a call of the run that it asked for
    ├── Unavailable           streamviz takes no new streams just now (503)
    │   └── NotRecorded       a stream cannot go on, as it cannot be recorded any more
    ├── InternalError         streamviz itself failed (500)
    └── UpstreamError         the provider was at fault, or could not be reached
"""

# Node's words and code for a connection that breaks: whoever lost it, opencode and Continue CLI ask again after the
# words, Qwen Code after the code.
HUNG_UP, RESET = "(socket hang up)", "ECONNRESET"
UNFINISHED_STREAM = f"upstream closed the stream before it was finished {HUNG_UP}"


class StreamvizError(Exception):
    """The base of all errors of this project."""


class AggregationError(StreamvizError):
    """An aggregator was used out of turn."""


class AlreadyComplete(AggregationError):
    """A chunk came after the end of input or after build()."""


class NothingAggregated(AggregationError):
    """A message was requested before any chunk came."""


class IllegalTransition(StreamvizError):
    """A block or a stream was moved to a state that its present state does not lead to."""


class PolicyParametersError(StreamvizError):
    """Parameters that a policy's kind does not accept; `field` names the offending one."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class ClientFacingError(StreamvizError):
    """An error that the client gets.

    `status` is the HTTP status, `kind` the error's type in the provider's words (`invalid_request_error`),
    `code` and `param` are as in OpenAI's error object, `headers` go out with the response.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.code = code
        self.param = param
        self.headers = headers or {}


class RequestError(ClientFacingError):
    """The request was at fault."""


def wrong_type(parameter: str, expected: str) -> RequestError:
    """The error for a parameter of the wrong type."""
    return RequestError(400, f"`{parameter}` must be {expected}.", code="invalid_type", param=parameter)


def missing(parameter: str) -> RequestError:
    """The error for a missing parameter."""
    return RequestError(400, f"`{parameter}` is missing.", code="missing_required_parameter", param=parameter)


class Denied(RequestError):
    """A policy denied the request, or a call that its run made."""

    CODE = "denied_by_policy"

    def __init__(self, message: str, status: int = 403, kind: str = "permission_error") -> None:
        super().__init__(status, message, kind=kind, code=self.CODE)


class Cancelled(RequestError):
    """A person stopped the stream, or a call that its run made."""

    CODE = "cancelled"

    def __init__(self, message: str) -> None:
        super().__init__(403, message, code=self.CODE)


# The codes of final errors: a client should not try again.
FINAL = frozenset({Denied.CODE, Cancelled.CODE})
# OpenAI's own code for a final error, which Codex and Copilot CLI know: after ours they try again, five times.
TOLD_FINAL = "invalid_prompt"


class Unavailable(ClientFacingError):
    """streamviz takes no new streams just now."""

    def __init__(self, why: str) -> None:
        message = f"{why[0].upper()}{why[1:]}. Try again later."
        super().__init__(503, message, kind="overloaded_error", code="unavailable", headers={"retry-after": "5"})


class InternalError(ClientFacingError):
    """streamviz itself failed; the cause is in the log, and not for clients to read."""

    def __init__(self) -> None:
        super().__init__(500, "Internal error in streamviz; see its log.", kind="server_error")


class NotRecorded(Unavailable):
    """A stream cannot go on, as it cannot be recorded any more."""

    def __init__(self) -> None:
        super().__init__("the stream was stopped because it can no longer be recorded")


class UpstreamError(ClientFacingError):
    """The provider was at fault or could not be reached; `body` is its answer, if there was one."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "upstream_error",
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> None:
        super().__init__(status, message, kind=kind, code=code, param=param, headers=headers)
        self.body = body


def unanswered(status: int) -> UpstreamError:
    """The client's error for a status that is neither an answer nor a refusal."""
    why = "which was not asked for" if status < 200 else "a redirect, which is not followed"
    return UpstreamError(502, f"upstream answered {status}, {why}")
