"""OpenAI's Agents SDK, over chat completions and responses."""

from typing import Any

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from driver import QUESTION, SYSTEM, Asked, main, png
from openai import AsyncOpenAI
from pydantic import BaseModel


class Place(BaseModel):
    """Where."""

    city: str


async def run(asked: Asked) -> str:
    set_tracing_disabled(True)
    sdk = AsyncOpenAI(base_url=f"{asked.base}/v1", api_key=asked.key, max_retries=asked.retries)
    kind: Any = OpenAIChatCompletionsModel if asked.dialect == "chat" else OpenAIResponsesModel
    tools = [function_tool(asked.look)] if asked.task in ("tools", "chained") else []
    settings = ModelSettings(include_usage=None if asked.task == "answer" else True)
    agent = Agent(
        name="walker",
        instructions=SYSTEM,
        tools=tools,
        model=kind(asked.model, sdk),
        model_settings=settings,
        output_type=Place if asked.task == "shape" else None,
    )
    given: Any = QUESTION
    if asked.task == "picture":
        picture = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{png()}"}
        given = [{"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, picture]}]
    if asked.task == "whole":
        return str((await Runner.run(agent, given)).final_output)
    chained: Any = {"auto_previous_response_id": True} if asked.task == "chained" else {}
    result = Runner.run_streamed(agent, given, **chained)
    number = 0
    async for _ in result.stream_events():
        number += 1
        if asked.has_left(number):
            result.cancel()
            return "left"
    output = result.final_output
    return output.model_dump_json() if isinstance(output, BaseModel) else str(output)


main(run)
