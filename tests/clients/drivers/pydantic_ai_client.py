"""pydantic-ai's agents, over each vendor's API."""

import base64
from typing import Any

from driver import QUESTION, SYSTEM, Asked, main, png
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent


class Place(BaseModel):
    """Where."""

    city: str


def model(asked: Asked) -> Any:
    if asked.dialect == "messages":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        sdk: Any = AsyncAnthropic(base_url=asked.base, api_key=asked.key, max_retries=asked.retries)
        return AnthropicModel(asked.model, provider=AnthropicProvider(anthropic_client=sdk))
    if asked.dialect == "gemini":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(asked.model, provider=GoogleProvider(api_key=asked.key, base_url=asked.base))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    sdk = AsyncOpenAI(base_url=f"{asked.base}/v1", api_key=asked.key, max_retries=asked.retries)
    kind = OpenAIChatModel if asked.dialect == "chat" else OpenAIResponsesModel
    return kind(asked.model, provider=OpenAIProvider(openai_client=sdk))


async def run(asked: Asked) -> str:
    wanted: Any = Place if asked.task == "shape" else str
    agent: Agent[None, Any] = Agent(model(asked), instructions=SYSTEM, output_type=wanted)
    if asked.task == "picture":
        return str((await agent.run([QUESTION, BinaryContent(base64.b64decode(png()), media_type="image/png")])).output)
    if asked.task == "shape":
        return str((await agent.run(QUESTION)).output.model_dump_json())
    if asked.task == "whole":
        return str((await agent.run(QUESTION)).output)
    return await (tools(agent, asked) if asked.task == "tools" else streamed(agent, asked))


async def tools(agent: Agent[None, Any], asked: Asked) -> str:
    agent.tool_plain(asked.look)
    async with agent.iter(QUESTION) as steps:
        async for node in steps:
            if Agent.is_model_request_node(node):
                async with node.stream(steps.ctx) as request:
                    async for _ in request:
                        pass
    return str(steps.result.output if steps.result else "")


async def streamed(agent: Agent[None, Any], asked: Asked) -> str:
    text, number = "", 0
    async with agent.run_stream(QUESTION) as result:
        async for piece in result.stream_text(delta=True, debounce_by=None):
            text, number = text + piece, number + 1
            if asked.has_left(number):
                return "left"
    return text


main(run)
