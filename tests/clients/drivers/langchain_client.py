"""LangChain's chat models and agents."""

from typing import Any

from driver import QUESTION, SYSTEM, Asked, main, png
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from pydantic import BaseModel


class Place(BaseModel):
    """Where."""

    city: str


def model(asked: Asked) -> Any:
    habits: Any = {"model": asked.model, "max_retries": asked.retries}
    if asked.dialect == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(base_url=asked.base, api_key=asked.key, max_tokens=4_000, **habits)
    if asked.dialect == "gemini":
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(base_url=asked.base, google_api_key=asked.key, **habits)
    from langchain_openai import ChatOpenAI

    is_chat = asked.dialect == "chat"
    return ChatOpenAI(base_url=f"{asked.base}/v1", api_key=asked.key, use_responses_api=not is_chat, **habits)


def run(asked: Asked) -> str:
    chat = model(asked)
    if asked.task == "shape":
        return str(chat.with_structured_output(Place).invoke(QUESTION).model_dump_json())
    if asked.task == "whole":
        return str(chat.invoke(QUESTION).text)
    if asked.task == "picture":
        url = {"type": "image", "base64": png(), "mime_type": "image/png"}
        return str(chat.invoke([HumanMessage([{"type": "text", "text": QUESTION}, url])]).text)
    if asked.task == "tools":
        return tools(chat, asked)
    text = ""
    for number, chunk in enumerate(chat.stream([("system", SYSTEM), ("user", QUESTION)])):
        if asked.has_left(number):
            return "left"
        text += str(chunk.text)
    return text


def tools(chat: Any, asked: Asked) -> str:
    def look(command: str) -> str:
        """Look at the folder."""
        return asked.look(command)

    agent: Any = create_agent(chat, tools=[look], system_prompt=SYSTEM)
    last = None
    for state in agent.stream({"messages": [("user", QUESTION)]}, stream_mode="values"):
        last = state["messages"][-1]
    return str(last.text) if last else ""


main(run)
