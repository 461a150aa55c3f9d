"""The base class of executors, and their error."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import msgspec

from streamviz.core.errors import StreamvizError
from streamviz.executors.call import Call
from streamviz.upstream.answer import Answer


class ExecutorError(StreamvizError):
    """There is no such executor, or it does not accept these parameters."""


class Executor(ABC):
    """Answers calls. One object serves all calls of a route; what it keeps of a call belongs in that call's answer."""

    name: ClassVar[str]
    # Whether it answers with one call of the model. Otherwise it makes calls of its own, which are counted separately.
    calls_model: ClassVar[bool] = True
    # A msgspec.Struct: its fields, their types and bounds are what an operator can set.
    Parameters: ClassVar[type[msgspec.Struct]]

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @property
    def shown(self) -> str:
        """What the record and pages call a stream that it answers; empty if the answer is one call."""
        return "" if self.calls_model else self.name

    @abstractmethod
    async def open(self, call: Call) -> Answer:
        """Begin to answer. Raises ClientFacingError if there is to be no answer."""
