"""Errors that the simulated provider answers with, before they have a wire format."""

from typing import Literal, Self

ErrorKind = Literal["invalid_request", "authentication", "not_found", "rate_limit", "server"]


class ProviderError(Exception):
    """A refusal with an HTTP status, sent in the shape of the request's format."""

    def __init__(
        self,
        status: int,
        kind: ErrorKind,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.code = code
        self.param = param
        self.retry_after = retry_after
        """Seconds."""

    @classmethod
    def bad_request(cls, message: str, param: str | None = None) -> Self:
        """A 400 that blames the request."""
        return cls(400, "invalid_request", message, param=param)

    @classmethod
    def no_such_model(cls, model: str) -> Self:
        """A 404 for a scenario or recording that is not there."""
        return cls(
            404,
            "not_found",
            f"The model `{model}` does not exist or you do not have access to it.",
            code="model_not_found",
        )
