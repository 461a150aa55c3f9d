"""Anthropic's own SDK."""

from typing import Any

import anthropic
from driver import CITY, MOST_TURNS, PARAMETERS, QUESTION, SYSTEM, Asked, main, png

CACHED = {"type": "ephemeral"}


def run(asked: Asked) -> str:
    sdk = anthropic.Anthropic(base_url=asked.base, api_key=asked.key, max_retries=asked.retries)
    tools = [{"name": "look", "input_schema": PARAMETERS, "cache_control": CACHED}]
    more: Any = {"tools": tools} if asked.task == "tools" else {}
    if asked.task == "shape":
        more = {"output_config": {"format": {"type": "json_schema", "schema": CITY}}}
    system: Any = [{"type": "text", "text": SYSTEM, "cache_control": CACHED}]
    parts: list[Any] = [{"type": "text", "text": QUESTION, "cache_control": CACHED}]
    if asked.task == "picture":
        parts.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}})
    given: list[Any] = [{"role": "user", "content": parts}]
    if asked.task == "count":
        return str(sdk.messages.count_tokens(model=asked.model, system=system, messages=given).input_tokens > 0)
    if asked.task == "whole":
        answer = sdk.messages.create(model=asked.model, max_tokens=4_000, system=system, messages=given)
        return "".join(part.text for part in answer.content if part.type == "text")
    more["thinking"] = {"type": "enabled", "budget_tokens": 1_024}
    for _ in range(MOST_TURNS):
        with sdk.messages.stream(model=asked.model, max_tokens=4_000, system=system, messages=given, **more) as stream:
            for number, _ in enumerate(stream):
                if asked.has_left(number):
                    return "left"
            answer = stream.get_final_message()
        given.append({"role": "assistant", "content": [part.model_dump(exclude_none=True) for part in answer.content]})
        calls = [part for part in answer.content if part.type == "tool_use"]
        if not calls:
            return "".join(part.text for part in answer.content if part.type == "text")
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": asked.look(**call.input)} for call in calls
        ]
        given.append({"role": "user", "content": results})
    return "endless"


main(run)
