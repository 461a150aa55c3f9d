"""The tools that one step of a run uses: judged, run, and reported to the model."""

import asyncio
from collections.abc import Iterable, Sequence

from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, objects
from streamviz.executors.child import Proposed
from streamviz.executors.reasoning.speaking import Speaker
from streamviz.executors.tools import Result, Toolbox, shortened

# Of a call's arguments and of its result, in the thinking that the client reads.
_SHOWN_CHARACTERS = 500
DENIED = Result("This call was denied by a policy. Do without it.", is_error=True)


class ProposedCalls:
    """Reassembles the tool calls in a chat stream's chunks: those that got past the policies."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[JsonObject]] = {}

    def take(self, payload: JsonObject) -> None:
        """Take in a chunk's payload."""
        for choice in objects(payload.get("choices")):
            for piece in objects(as_object(choice.get("delta")).get("tool_calls")):
                self._pieces.setdefault(as_index(piece.get("index")) or 0, []).append(piece)

    @property
    def calls(self) -> list[Proposed]:
        """The calls, in order."""
        return [_joined(pieces) for _, pieces in sorted(self._pieces.items())]


def _joined(pieces: Iterable[JsonObject]) -> Proposed:
    pieces = list(pieces)
    functions = [as_object(piece.get("function")) for piece in pieces]
    return Proposed(
        next((id for piece in pieces if (id := as_text(piece.get("id")))), ""),
        "".join(as_text(function.get("name")) for function in functions),
        "".join(as_text(function.get("arguments")) for function in functions),
    )


async def run_all(
    calls: Sequence[Proposed], toolbox: Toolbox, speaker: Speaker, step: int, *, side_by_side: bool
) -> dict[str, Result]:
    """The results of these calls, by id. Cancelling this stops the tools."""
    if not side_by_side:
        return {call.id: await _run(call, toolbox, speaker, step) for call in calls}
    async with asyncio.TaskGroup() as group:
        tasks = {call.id: group.create_task(_run(call, toolbox, speaker, step)) for call in calls}
    return {id: task.result() for id, task in tasks.items()}


async def _run(call: Proposed, toolbox: Toolbox, speaker: Speaker, step: int) -> Result:
    await speaker.event("tool_execution_start", step=step, tool=call.name, call=call.id)
    result = await toolbox.run(call.name, call.arguments)
    arguments, text = (shortened(each, _SHOWN_CHARACTERS) for each in (call.arguments, result.text))
    about = {"step": step, "tool": call.name, "call": call.id, "is_error": result.is_error}
    await speaker.event("tool_result", f"{call.name}({arguments}): {text}\n\n", **about)
    return result


def told(calls: Iterable[Proposed], results: dict[str, Result]) -> str:
    """What the model reads about a step's calls."""
    return "\n\n".join(_told(call, results[call.id]) for call in calls) or "No tool was named."


def _told(call: Proposed, result: Result) -> str:
    # With the arguments that a policy denied, the next step would be denied too.
    arguments = "" if result is DENIED else f"({call.arguments})"
    return f"{'Error of' if result.is_error else 'Result of'} {call.name}{arguments}:\n{result.text}"
