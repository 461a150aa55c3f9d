"""What stands where an enforced policy should, and could not be made."""

from typing import ClassVar

from streamviz.core.context import StreamingContext
from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import Policy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Verdict


class CannotRun(Policy):
    """Fails on each request, so that a policy which cannot be made denies or allows as it would by any other failure.

    `why` is what kept it from being made.
    """

    kind = "cannot_run"
    parameters_schema: ClassVar[JsonObject] = {}

    def __init__(self, why: str) -> None:
        self._why = why

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        """Raises PolicyParametersError."""
        raise PolicyParametersError(self._why)
