"""The scenario `reasoner`: asked for a plan, as text or as a tool's arguments, it answers with the next step of one;
otherwise with a text, or with whatever other JSON it is asked for."""

from streamviz.simulator.author import Author, arguments_json
from streamviz.simulator.reply import JsonObject
from streamviz.simulator.shapes import Shape, example_of

DEFAULT_STEPS = 3
_THOUGHTS = (
    "The question asks for figures, so I should count before I answer.",
    "The first count is there. I'll check it against the whole text.",
    "Both counts agree. Nothing else in the question needs a tool.",
)
# Only a plan's schema has this.
_PLAN = "next_action"
_ANSWER = "I counted the words twice, once by sentence and once as a whole, and both counts agree."


def write(author: Author) -> None:
    """Write a step of a plan, or the answer. All steps but the last use two tools at the same time."""
    shape = author.shape
    if shape is None:
        author.say_text(_ANSWER)
    elif shape.tool:
        author.call(0, shape.tool, _json_of(shape, author))
    else:
        author.say_text(arguments_json(_json_of(shape, author)))
    author.finish("tool_calls" if shape and shape.tool else "stop")


def _json_of(shape: Shape, author: Author) -> object:
    is_plan = _PLAN in arguments_json(shape.schema)
    return _step(author) if is_plan else example_of(shape.schema, _ANSWER)


def _step(author: Author) -> JsonObject:
    steps = author.plan_steps or DEFAULT_STEPS
    is_last = author.turn + 1 >= steps
    thought = _THOUGHTS[-1] if is_last else _THOUGHTS[author.turn % (len(_THOUGHTS) - 1)]
    return {
        "thought": thought,
        "next_action": "finished" if is_last else "use_tools",
        "tools_to_use": [] if is_last else [_count("The quick brown fox"), _wait(author)],
        "concurrent_execution": True,
    }


def _count(text: str) -> JsonObject:
    return {"name": "count_words", "arguments": arguments_json({"text": text}), "reason": "To know how many."}


def _wait(author: Author) -> JsonObject:
    seconds = 0.2 if author.seconds is None else author.seconds
    return {"name": "wait", "arguments": arguments_json({"seconds": seconds}), "reason": "The counter needs a moment."}
