"""The executors there are."""

import msgspec

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject
from streamviz.executors.call import Call
from streamviz.executors.executor import Executor, ExecutorError
from streamviz.executors.passthrough import NoParameters, Passthrough
from streamviz.executors.reasoning.executor import Reasoning
from streamviz.upstream.answer import Answer

EXECUTORS: dict[str, type[Executor]] = {executor.name: executor for executor in (Passthrough, Reasoning)}
PASSTHROUGH = Passthrough(NoParameters())


def names() -> list[tuple[str, str]]:
    """Each executor, as a choice for forms."""
    return [(name, name) for name in EXECUTORS]


def build(name: str, parameters: JsonObject) -> Executor:
    """An executor with these parameters. Raises ExecutorError if there is none of that name, or it rejects them."""
    found = EXECUTORS.get(name)
    if found is None:
        raise ExecutorError(f"there is no executor called {name[:100]!r}: there are {', '.join(EXECUTORS)}")
    try:
        return found(msgspec.convert(parameters, found.Parameters))
    except msgspec.ValidationError as error:
        raise ExecutorError(str(error)) from error


class Unusable(Executor):
    """Stands for an executor that can no longer be made: calls of its route fail, and no other answers them."""

    name = "unusable"
    Parameters = NoParameters

    def __init__(self, why: str) -> None:
        super().__init__(NoParameters())
        self._why = why

    async def open(self, call: Call) -> Answer:
        message = f"The route `{call.asked.model}` cannot be used: {self._why}."
        raise RequestError(400, message, code="route_unusable", param="model")
