"""Google's Agent Development Kit: an agent with tools, and two agents that follow each other."""

import base64
import os
from typing import Any

from driver import QUESTION, SYSTEM, Asked, main, png
from google.adk.agents import Agent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel


class Place(BaseModel):
    """Where."""

    city: str


def agent(asked: Asked) -> Any:
    attempts = types.HttpRetryOptions(attempts=asked.retries + 1, initial_delay=0.1)
    habits: Any = {
        "model": Gemini(model=asked.model, base_url=asked.base, retry_options=attempts),
        "instruction": SYSTEM,
    }
    if asked.task == "sequence":
        return SequentialAgent(name="both", sub_agents=[Agent(name=name, **habits) for name in ("first", "second")])

    def look(command: str) -> dict[str, str]:
        """Look at the folder."""
        return {"result": asked.look(command)}

    tools = [look] if asked.task == "tools" else []
    return Agent(name="walker", tools=tools, output_schema=Place if asked.task == "shape" else None, **habits)


async def run(asked: Asked) -> str:
    os.environ["GOOGLE_API_KEY"] = asked.key
    runner = InMemoryRunner(agent=agent(asked), app_name="steps")
    session = await runner.session_service.create_session(app_name="steps", user_id="walker")
    # Others have the same question and answers, by which no conversation is known.
    parts = [types.Part(text=f"{QUESTION}, {asked.model}" if asked.task == "sequence" else QUESTION)]
    if asked.task == "picture":
        parts.append(types.Part.from_bytes(data=base64.b64decode(png()), mime_type="image/png"))
    mode = StreamingMode.NONE if asked.task == "whole" else StreamingMode.SSE
    said = runner.run_async(
        user_id="walker",
        session_id=session.id,
        new_message=types.Content(role="user", parts=parts),
        run_config=RunConfig(streaming_mode=mode),
    )
    text, pieces, failed = "", 0, ""
    # After an event that tells of an error, most errors are raised.
    async for event in said:
        failed = event.error_message if event.error_code else failed
        told = [part.text for part in (event.content and event.content.parts) or [] if part.text and not part.thought]
        pieces += event.partial is True
        if asked.has_left(pieces):
            await said.aclose()
            return "left"
        text = "".join(told) if told and not event.partial else text
    if failed:
        raise RuntimeError(failed)
    return text


main(run)
