"""LiteLLM as a client library."""

import json
from typing import Any

import litellm
from driver import MOST_TURNS, PARAMETERS, QUESTION, SYSTEM, Asked, main, png

VENDORS = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "gemini"}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}]


def run(asked: Asked) -> str:
    litellm.suppress_debug_info = True
    base = f"{asked.base}/v1" if VENDORS[asked.dialect] == "openai" else asked.base
    name = f"{VENDORS[asked.dialect]}/{asked.model}"
    habits: Any = {"model": name, "api_base": base, "api_key": asked.key, "num_retries": asked.retries}
    if asked.dialect == "responses":
        return str(litellm.responses(input=QUESTION, instructions=SYSTEM, **habits).output_text)
    more: Any = {"tools": TOOLS} if asked.task == "tools" else {}
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    if asked.task == "picture":
        url = {"url": f"data:image/png;base64,{png()}"}
        messages[1]["content"] = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": url}]
    if asked.task == "whole":
        return str(litellm.completion(messages=messages, **habits).choices[0].message.content)
    for _ in range(MOST_TURNS):
        chunks = []
        for number, chunk in enumerate(litellm.completion(messages=messages, stream=True, **more, **habits)):
            if asked.has_left(number):
                return "left"
            chunks.append(chunk)
        answer: Any = litellm.stream_chunk_builder(chunks)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            result = asked.look(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return "endless"


main(run)
