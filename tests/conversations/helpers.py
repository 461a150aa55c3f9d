"""Sub-agents that run in the background: their caller goes on before they begin, and their tasks are too short to
recognise them by, or come after all that the caller knows. See `agents`."""

import uuid

from tests.conversations.agents import FIX, SUBAGENT, TURN, Call, Run
from tests.conversations.providers import (
    Json,
    Said,
    messages_results,
    messages_turn,
    responses_results,
    without_ids,
)


def background_helpers(seed: int) -> Run:
    """Claude Code: two sub-agents at once, one of which calls another."""
    session = {"x-claude-code-session-id": str(uuid.UUID(int=seed << 64 | 0xC0DE))}
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("Agent", "Bash")]
    look, launch = ("Bash", {"command": "ls"}), ("Agent", {"prompt": "Look around."})

    def call(said: list[Json], answer: Said, after: int | None, relation: str, agent: str = "", by: str = "") -> Call:
        told = {"x-claude-code-agent-id": agent, "x-claude-code-parent-agent-id": by}
        body = {"model": "m", "max_tokens": 9, "tools": tools, "messages": list(said)}
        return Call("anthropic_messages", body, answer, after, relation, session | {k: v for k, v in told.items() if v})

    said = [{"role": "user", "content": FIX}]
    first = yield call(said, Said("", (launch, launch)), None, "")
    said += [messages_turn(first), messages_results(first, "launched", "launched")]
    second = yield call(said, Said("They are at work."), 0, TURN)
    begun = [{"role": "user", "content": "Look around."}]
    one = yield call(begun, Said("", (look,)), 0, SUBAGENT, "a1")
    other = yield call(begun, Said("", (launch,)), 0, SUBAGENT, "a2")
    one_said = [*begun, messages_turn(one), messages_results(one, "a b c")]
    yield call(one_said, Said("", (look,)), 2, TURN, "a1")
    other_said = [*begun, messages_turn(other), messages_results(other, "launched")]
    yield call(other_said, Said("Waiting."), 3, TURN, "a2")
    yield call(begun, Said("None."), 3, SUBAGENT, "a3", by="a2")
    said += [messages_turn(second), {"role": "user", "content": "Both are done."}]
    yield call(said, Said("So be it."), 1, TURN)


def forked_thread(seed: int) -> Run:
    """Codex with its second kind of sub-agents: one begins with its caller's history."""
    session = str(uuid.UUID(int=seed << 64 | 0xC0DE))
    tools = [{"type": "function", "name": name, "parameters": {}} for name in ("spawn_agent", "shell")]

    def call(items: list[Json], answer: Said, after: int | None, relation: str, thread: str = "") -> Call:
        told = {"x-codex-parent-thread-id": session, "x-openai-subagent": "collab_spawn"} if thread else {}
        headers = {"session-id": session, "thread-id": thread or session, **told}
        body = {"model": "m", "tools": tools, "input": list(items), "store": False}
        return Call("openai_responses", body, answer, after, relation, headers)

    said: list[Json] = [{"role": "user", "content": FIX}]
    first = yield call(said, Said("", (("spawn_agent", {"message": "Look around."}),)), None, "")
    said += [*without_ids(first["output"]), *responses_results(first, "/root/one")]
    second = yield call(said, Said("", (("shell", {"command": "make"}),)), 0, TURN)
    own = [*said, {"role": "user", "content": "Look around."}]
    looked = yield call(own, Said("", (("shell", {"command": "ls"}),)), 0, SUBAGENT, "t1")
    own += [*without_ids(looked["output"]), *responses_results(looked, "a b c")]
    yield call(own, Said("None."), 2, TURN, "t1")
    said += [*without_ids(second["output"]), *responses_results(second, "made")]
    yield call(said, Said("So be it."), 1, TURN)


def team_of_threads(seed: int) -> Run:
    """The same kind of sub-agents without any history: what they are to do, and what they found, are messages of
    agents."""
    session = str(uuid.UUID(int=seed << 64 | 0xC0DE))
    tools = [{"type": "function", "name": name, "parameters": {}} for name in ("spawn_agent", "shell")]

    def call(items: list[Json], answer: Said, after: int | None, relation: str, thread: str = "") -> Call:
        told = {"x-codex-parent-thread-id": session, "x-openai-subagent": "collab_spawn"} if thread else {}
        headers = {"session-id": session, "thread-id": thread or session, **told}
        body = {"model": "m", "tools": tools, "input": list(items), "store": False}
        return Call("openai_responses", body, answer, after, relation, headers)

    said: list[Json] = [{"role": "user", "content": FIX}]
    first = yield call(said, Said("", (("spawn_agent", {"message": "Look around."}),)), None, "")
    own = [{"role": "user", "content": "<environment_context></environment_context>"}, _between("/root/one", "Look.")]
    looked = yield call(own, Said("", (("shell", {"command": "ls"}),)), 0, SUBAGENT, "t1")
    own += [*without_ids(looked["output"]), *responses_results(looked, "a b c")]
    yield call(own, Said("None."), 1, TURN, "t1")
    said += [*without_ids(first["output"]), *responses_results(first, "/root/one"), _between("/root", "None.")]
    yield call(said, Said("So be it."), 0, TURN)


def _between(recipient: str, text: str) -> Json:
    content = [{"type": "input_text", "text": "Payload:\n"}, {"type": "encrypted_content", "encrypted_content": text}]
    return {"type": "agent_message", "author": "/root", "recipient": recipient, "content": content}
