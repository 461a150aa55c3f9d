"""Sub-agents that run in the background: their caller goes on before they begin, and their tasks are too short to
recognise them by. See `agents`."""

import uuid

from tests.conversations.agents import FIX, SUBAGENT, TURN, Call, Run
from tests.conversations.providers import Json, Said, messages_results, messages_turn


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
