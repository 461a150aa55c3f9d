"""OpenAI's own SDK: chat completions and responses."""

import json
from typing import Any

import openai
from driver import CITY, MOST_TURNS, PARAMETERS, QUESTION, SYSTEM, Asked, main, png


def run(asked: Asked) -> str:
    sdk = openai.OpenAI(base_url=f"{asked.base}/v1", api_key=asked.key, max_retries=asked.retries)
    return chat(sdk, asked) if asked.dialect == "chat" else responses(sdk, asked)


def chat(sdk: openai.OpenAI, asked: Asked) -> str:
    function = {"name": "look", "parameters": PARAMETERS}
    more: Any = {"tools": [{"type": "function", "function": function}]} if asked.task == "tools" else {}
    if asked.task == "shape":
        form = {"type": "json_schema", "json_schema": {"name": "place", "schema": CITY, "strict": True}}
        more = {"response_format": form}
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    if asked.task == "picture":
        url = {"url": f"data:image/png;base64,{png()}"}
        messages[1]["content"] = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": url}]
    if asked.task == "whole":
        completion = sdk.chat.completions.create(model=asked.model, messages=messages)
        return completion.choices[0].message.content or ""
    for _ in range(MOST_TURNS):
        with sdk.chat.completions.stream(model=asked.model, messages=messages, **more) as stream:
            for number, _ in enumerate(stream):
                if asked.has_left(number):
                    return "left"
            answer = stream.get_final_completion().choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            return answer.content or ""
        for call in answer.tool_calls:
            result = asked.look(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return "endless"


def responses(sdk: openai.OpenAI, asked: Asked) -> str:
    tools: Any = [{"type": "function", "name": "look", "parameters": PARAMETERS, "strict": False}]
    more: Any = {"tools": tools} if asked.task in ("tools", "chained") else {}
    if asked.task == "shape":
        more = {"text": {"format": {"type": "json_schema", "name": "place", "schema": CITY, "strict": True}}}
    given: list[Any] = [{"role": "user", "content": QUESTION}]
    if asked.task == "picture":
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{png()}"}
        given[0]["content"] = [{"type": "input_text", "text": "What is this?"}, picture]
    if asked.task == "whole":
        return sdk.responses.create(model=asked.model, input=given).output_text
    for _ in range(MOST_TURNS):
        with sdk.responses.stream(model=asked.model, input=given, instructions=SYSTEM, **more) as stream:
            for number, event in enumerate(stream):
                if asked.has_left(number):
                    return "left"
                if event.type in ("response.failed", "error"):
                    raise RuntimeError(event.type)
            answer = stream.get_final_response()
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output_text
        results = [
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": asked.look(**json.loads(call.arguments)),
            }
            for call in calls
        ]
        if asked.task == "chained":
            given, more["previous_response_id"] = results, answer.id
        else:
            given = [*given, *(item.model_dump(exclude_none=True) for item in answer.output), *results]
    return "endless"


main(run)
