"""A LangGraph graph of a model and its tools in a loop; two threads of one checkpointer, concurrently."""

from typing import Any

from driver import QUESTION, SYSTEM, Asked, main
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def run(asked: Asked) -> str:
    habits: Any = {"model": asked.model, "api_key": asked.key, "max_retries": asked.retries}
    if asked.dialect == "messages":
        chat: Any = ChatAnthropic(base_url=asked.base, max_tokens=4_000, **habits)
    else:
        chat = ChatOpenAI(base_url=f"{asked.base}/v1", **habits)

    def look(command: str) -> str:
        """Look at the folder."""
        return asked.look(command)

    offered = chat.bind_tools([look]) if asked.task == "tools" else chat
    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [offered.invoke([("system", SYSTEM), *state["messages"]])]})
    graph.add_node("tools", ToolNode([look]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    made = graph.compile(checkpointer=InMemorySaver())
    pieces = []
    config = {"configurable": {"thread_id": "1"}}
    steps = made.stream({"messages": [("user", QUESTION)]}, config, stream_mode="messages")
    for number, (piece, _) in enumerate(steps):
        if asked.has_left(number):
            return "left"
        pieces.append(piece)
    return "".join(str(piece.text) for piece in pieces if piece.type == "AIMessageChunk")


main(run)
