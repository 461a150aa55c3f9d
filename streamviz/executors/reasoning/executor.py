"""The executor `reasoning` and its parameters."""

from pathlib import Path
from typing import Annotated

import msgspec

from streamviz.executors.call import Call
from streamviz.executors.executor import Executor, ExecutorError
from streamviz.executors.reasoning.answer import RunAnswer
from streamviz.executors.reasoning.limits import Limits
from streamviz.executors.reasoning.prompts import OWN, prompts_in
from streamviz.executors.reasoning.requests import require_answerable
from streamviz.executors.reasoning.run import Run
from streamviz.upstream.answer import Answer

_Count = Annotated[int, msgspec.Meta(ge=1, le=100)]
_Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]


class ReasoningParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of a run before it writes its answer, and what it may use.

    `tools` are globs of tool names, `tool_seconds` is the time limit of each tool call, `dollars` are US dollars.
    `prompts` is a folder with files that replace those that come with streamviz.
    """

    steps: _Count = 10
    tool_calls: _Count = 20
    seconds: _Seconds = 300.0
    tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    dollars: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tools: tuple[str, ...] = ("count_words", "wait")
    tool_seconds: _Seconds = 30.0
    prompts: str = ""

    @property
    def limits(self) -> Limits:
        """The limits, as a run takes them."""
        return Limits(self.steps, self.tool_calls, self.seconds, self.tokens, self.dollars)


class Reasoning(Executor):
    """The model plans in steps, uses tools, and then writes the answer."""

    name = "reasoning"
    calls_model = False
    Parameters = ReasoningParameters
    parameters: ReasoningParameters

    def __init__(self, parameters: ReasoningParameters) -> None:
        super().__init__(parameters)
        try:
            self._prompts = prompts_in(Path(parameters.prompts)) if parameters.prompts else OWN
        except ValueError as error:
            raise ExecutorError(f"prompts: {error}") from error

    async def open(self, call: Call) -> Answer:
        given = self.parameters
        asked = await call.as_chat()
        require_answerable(asked)
        toolbox = call.tools(given.tools, min(given.tool_seconds, given.seconds))
        run = Run(call, given.limits, self._prompts, toolbox, asked)
        answer = RunAnswer(call.asked, run)
        await answer.begin()
        return answer
