"""Simulated agent runs: what each client sends, call by call, and what the model answers.

A run is a generator: it yields its next call and is sent the provider's whole answer. `after` is the number of the call
in this run that it continues, and `relation` says how; None if it begins something.
"""

import json
import uuid
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from tests.conversations.providers import (
    Json,
    Said,
    chat_results,
    chat_turn,
    messages_results,
    messages_turn,
    responses_results,
    without_ids,
)

TURN, RETRY, FORK, SUBAGENT = "turn", "retry", "fork", "subagent"
FIX = "The build fails on main since this morning. Please find out why and mend it."
REMINDER = "<system-reminder>\nAs you answer, you can use the following context: today is Monday.\n</system-reminder>"


@dataclass(frozen=True)
class Call:
    """One request, what the model answers, and its expected place in the session.

    `instead` is what a policy puts in place of blocks, by ordinal; if `leaves`, the client disconnects after this
    answer; if `halts`, a policy ends it.
    """

    format: str
    body: Json
    answer: Said
    after: int | None = None
    relation: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    fails: bool = False
    leaves: bool = False
    halts: bool = False
    instead: dict[int, str] = field(default_factory=dict)


Run = Generator[Call, Json, None]


def _tools(*names: str) -> list[Json]:
    return [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]


def _own(*names: str) -> list[Json]:
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _cached(message: Json) -> Json:
    """Claude Code marks the last message like this, and no other."""
    parts = (
        message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
    )
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": {"type": "ephemeral"}}]}


def claude_code(seed: int, *, turns: int = 3, is_named: bool = True, has_helper: bool = False) -> Run:
    """Claude Code: `cache_control` moves, the system prompt changes from call to call, and a Task runs a sub-agent."""
    session = str(uuid.UUID(int=seed << 64 | 0xC0DE))
    user_id = json.dumps({"device_id": "d", "account_uuid": "", "session_id": session})
    headers = {"x-claude-code-session-id": session, "user-agent": "claude-cli/2.1.150"} if is_named else {}
    tools = _own("Bash", "Read", "Edit", "Task")

    def call(messages: list[Json], answer: Said, after: int | None, relation: str = TURN, **more: Any) -> Call:
        at = after or 0
        system = [
            {"type": "text", "text": f"x-anthropic-billing-header: cch={seed}{at}"},
            {"type": "text", "text": "You"},
        ]
        body = {"model": "m", "max_tokens": 9, "system": system, "tools": tools, "messages": messages, **more}
        body |= {"metadata": {"user_id": user_id}} if is_named else {}
        body["messages"] = [*body["messages"][:-1], _cached(body["messages"][-1])]
        return Call("anthropic_messages", body, answer, after, relation if after is not None else "", headers)

    said: list[Json] = [
        {"role": "user", "content": [{"type": "text", "text": REMINDER}, {"type": "text", "text": FIX}]}
    ]
    number = 0
    errand = f"Look through all tests of module {seed} and report which of them never ran on main."
    first = ("Task", {"description": "look", "prompt": errand, "subagent_type": "general-purpose"})
    ask = first if has_helper else ("Bash", {"command": "make test"})
    body = yield call(said, Said("I'll look." if seed % 2 else "", (ask,)), None)
    if has_helper:
        asked: list[Json] = [{"role": "user", "content": [_text(REMINDER), _text(errand)]}]
        found = yield call(asked, Said("", (("Bash", {"command": "ls"}),)), 0, SUBAGENT, tools=_own("Bash", "Read"))
        asked += [messages_turn(found), messages_results(found, "a b c")]
        yield call(asked, Said("None of them ran."), 1, TURN, tools=_own("Bash", "Read"))
        number = 2
    last = 0
    for turn in range(turns):
        said += [messages_turn(body, keeps_thinking=turn == turns - 1), messages_results(body, f"exit {turn}")]
        body = yield call(said, Said("", (("Bash", {"command": f"make part-{turn}"}),)), last)
        number += 1
        last = number


def claude_code_compacted(seed: int) -> Run:
    """The same session continues from a summary of the conversation."""
    yield from claude_code(seed, turns=2)
    session = str(uuid.UUID(int=seed << 64 | 0xC0DE))
    summary = "This session is being continued from a previous conversation that ran out of context: " + FIX
    said: list[Json] = [{"role": "user", "content": summary}]
    body = {"model": "m", "max_tokens": 9, "tools": _own("Bash", "Read", "Edit", "Task"), "messages": said}
    yield Call("anthropic_messages", body, Said("Going on."), headers={"x-claude-code-session-id": session})


def codex(seed: int, *, turns: int = 3, has_helper: bool = False) -> Run:
    """Codex: sends all items again in each request, without their ids, and the session in a header."""
    session = str(uuid.UUID(int=seed << 64 | 0xC0DEC))
    headers = {"session-id": session, "thread-id": session, "user-agent": "codex_cli_rs/0.98.0"}
    context = "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"
    said: list[Json] = [_message("developer", "<permissions instructions>none</permissions instructions>")]
    said += [_message("user", context), _message("user", FIX)]

    def call(items: list[Json], answer: Said, after: int | None, relation: str = TURN, **more: str) -> Call:
        body = {
            "model": "m",
            "instructions": "You are Codex",
            "input": items,
            "store": False,
            "prompt_cache_key": session,
        }
        body |= {"tools": [{"type": "function", "name": "shell"}, {"type": "custom", "name": "apply_patch"}]}
        told = headers | {key.replace("_", "-"): value for key, value in more.items()}
        return Call("openai_responses", body, answer, after, relation if after is not None else "", told)

    body = yield call(said, Said("", (("shell", {"command": ["make", "test"]}),)), None)
    last = number = 0
    if has_helper:
        thread = str(uuid.UUID(int=seed << 64 | 0x5AB))
        told = {"thread_id": thread, "x_codex_parent_thread_id": session, "x_openai_subagent": "review"}
        yield call([_message("user", f"Review change {seed}.")], Said("Fine."), 0, SUBAGENT, **told)
        number = 1
    for turn in range(turns):
        said += [*without_ids(body["output"]), *responses_results(body, f"exit {turn}")]
        body = yield call(said, Said("", (("shell", {"command": ["make", str(turn)]}),)), last)
        number += 1
        last = number


def _message(role: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def opencode(seed: int) -> Run:
    """opencode: a sub-agent has a session of its own, and names its parent's."""
    session, child = f"ses_{seed:08x}Ab3dEf6hIj9k", f"ses_{seed:08x}Zy8xWv5uTs2r"
    tools = _tools("bash", "edit", "task")
    errand = f"Find every caller of function number {seed} in this repository."
    said: list[Json] = [{"role": "system", "content": "You are opencode"}, {"role": "user", "content": FIX}]
    named = {"x-session-id": session, "x-session-affinity": session}
    first = Said("", (("task", {"prompt": errand, "subagent_type": "general"}),))
    body = yield Call("openai_chat", {"model": "m", "messages": said, "tools": tools}, first, headers=named)
    asked = [{"role": "system", "content": "You are a helper"}, {"role": "user", "content": errand}]
    helper = {"x-session-id": child, "x-session-affinity": child, "x-parent-session-id": session}
    yield Call(
        "openai_chat", {"model": "m", "messages": asked, "tools": _tools("grep")}, Said("2."), 0, SUBAGENT, helper
    )
    said = [*said, chat_turn(body), *chat_results(body, "2 callers")]
    yield Call("openai_chat", {"model": "m", "messages": said, "tools": tools}, Said("Done."), 0, TURN, named)


def aider(seed: int, *, task: str = FIX, turns: int = 3) -> Run:
    """aider: no session name, made-up turns before and after the conversation, and a reminder that moves on."""
    examples: list[Json] = [
        {"role": "user", "content": "Change get_factorial() to use math.factorial"},
        {
            "role": "assistant",
            "content": "To make this change we need to modify `mathweb/flask/app.py` to:" + "\n1." * 90,
        },
        {"role": "user", "content": "I switched to a new code base. Please don't consider the above files."},
        {"role": "assistant", "content": "Ok."},
    ]
    files: list[Json] = [
        {"role": "user", "content": f"I have *added these files to the chat*: module_{seed}.py"},
        {"role": "assistant", "content": "Ok, any changes I propose will be to those files."},
    ]
    done: list[Json] = []
    for turn in range(turns):
        asked = task if not turn else f"And now part {turn}."
        system = {"role": "system", "content": f"Act as an expert. It is {turn} o'clock."}
        reminder = "\n\n# *SEARCH/REPLACE block* Rules:\nEvery block must use this format." * 3
        messages = [system, *examples, *done, *files, {"role": "user", "content": asked + reminder}]
        text = (
            f"module_{seed}.py\n<<<<<<< SEARCH\nold line {turn}\n=======\nnew line {seed} {turn}\n>>>>>>> REPLACE\n" * 4
        )
        after = turn - 1 if turn else None
        answer = yield Call(
            "openai_chat", {"model": "m", "messages": messages}, Said(text), after, TURN if turn else ""
        )
        done += [{"role": "user", "content": asked}, chat_turn(answer)]


def sdk_loop(seed: int, *, task: str = FIX, turns: int = 3, is_alike: bool = False, cache: str = "") -> Run:
    """A loop around OpenAI's SDK: the same prompt, the same tools, often the same answers."""
    said: list[Json] = [{"role": "system", "content": f"You are an agent. Seed {0 if is_alike else seed}"}]
    said.append({"role": "user", "content": task})
    tools = _tools("bash")
    for turn in range(turns):
        given = {"command": f"make {turn if is_alike else (seed, turn)}"}
        body = {"model": "m", "messages": list(said), "tools": tools, **({"prompt_cache_key": cache} if cache else {})}
        after = turn - 1 if turn else None
        answer = yield Call("openai_chat", body, Said("", (("bash", given),)), after, TURN if turn else "")
        said += [chat_turn(answer), *chat_results(answer, "ok")]


def sdk_loop_forked(seed: int) -> Run:
    """A person goes back and asks differently."""
    begin: list[Json] = [{"role": "user", "content": f"Tell me a story about the number {seed}, please."}]
    text = f"Once upon a time there was a number, and its name was {seed}. It lived with its digits by the sea."
    first = yield Call("openai_chat", {"model": "m", "messages": begin}, Said(text))
    said = [*begin, chat_turn(first)]
    for number, ask in enumerate(["Make it longer.", "Make it shorter."]):
        body = {"model": "m", "messages": [*said, {"role": "user", "content": ask}]}
        yield Call("openai_chat", body, Said(f"It was {ask}"), 0, FORK if number else TURN)


def sdk_loop_retried(seed: int) -> Run:
    """The provider fails, and the SDK retries by itself."""
    said: list[Json] = [{"role": "user", "content": FIX}]
    headers = {"x-stainless-retry-count": "0"}
    yield Call("openai_chat", {"model": "m", "messages": said}, Said(), headers=headers, fails=True)
    headers = {"x-stainless-retry-count": "1"}
    text = f"It fails since commit {seed:040x}, which took a file out that all tests read first."
    answer = yield Call("openai_chat", {"model": "m", "messages": said}, Said(text), 0, RETRY, headers)
    said = [*said, chat_turn(answer), {"role": "user", "content": "Mend it."}]
    yield Call(
        "openai_chat", {"model": "m", "messages": said}, Said("Done."), 1, TURN, {"x-stainless-retry-count": "0"}
    )


def anthropic_loop(seed: int, *, turns: int = 4) -> Run:
    """A loop around Anthropic's SDK that trims old messages and repeats a text as parts that it first sent as a
    string."""
    said: list[Json] = [{"role": "user", "content": FIX}]
    for turn in range(turns):
        system = f"You are an agent. {turns - turn} calls are left."
        window = said if turn < 2 else [said[0], *said[-4:]]
        body = {"model": "m", "max_tokens": 9, "system": system, "messages": window, "tools": _own("bash")}
        text = f"Step {turn} of run {seed}: I look at what the last command has told, and go on from there to the next."
        answer = yield Call(
            *("anthropic_messages", body, Said(text, (("bash", {"command": f"step {turn}"}),))),
            *(turn - 1 if turn else None, TURN if turn else ""),
        )
        said = [
            {**each, "content": [{"type": "text", "text": each["content"]}]} if not at else each
            for at, each in enumerate(said)
        ]
        said += [messages_turn(answer, keeps_thinking=False), messages_results(answer, f"result {turn}")]


def anthropic_thread(seed: int) -> Run:
    """Only new messages are sent; the rest is stored by the provider."""
    last, id = None, None
    for turn in range(3):
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Go on."}]}
        body |= {"thread": {"previous_message_id": id}} if id else {}
        answer = yield Call("anthropic_messages", body, Said("OK"), last, TURN if turn else "")
        last, id = turn, answer["id"]


def responses_loop(seed: int) -> Run:
    """OpenAI's responses, stored by the provider: later turns send only the tools' outputs."""
    items: Any = FIX
    id, last = None, None
    for turn in range(3):
        body = {"model": "m", "input": items, **({"previous_response_id": id} if id else {})}
        answer = yield Call("openai_responses", body, Said("", (("shell", {"n": turn}),)), last, TURN if turn else "")
        id, last, items = answer["id"], turn, responses_results(answer, "ok")


def responses_stateless(seed: int) -> Run:
    """OpenAI's responses, with all items sent each time, those of answers with their ids."""
    items: list[Json] = [{"role": "user", "content": FIX}]
    for turn in range(3):
        after = turn - 1 if turn else None
        answer = yield Call(
            *("openai_responses", {"model": "m", "input": list(items), "store": False}),
            *(Said(f"Part {turn}", (("shell", {"n": turn}),)), after, TURN if turn else ""),
        )
        items += [*answer["output"], *responses_results(answer, "ok")]


def conversation_id(seed: int) -> Run:
    """A conversation that OpenAI stores."""
    for turn in range(3):
        body = {"model": "m", "input": f"Question {turn}", "conversation": {"id": f"conv_{seed:032x}"}}
        place = (turn - 1, TURN) if turn else ()
        yield Call("openai_responses", body, Said("Answer"), *place)


def langgraph(seed: int, *, has_trace: bool = False) -> Run:
    """A supervisor that hands work to an agent with other tools; no session is named, with or without a trace."""
    trace = {"traceparent": f"00-{seed:032x}-{'1' * 16}-01"} if has_trace else {}
    errand = f"Collect the figures of quarter {seed} from the warehouse and put them in one table."
    said: list[Json] = [{"role": "user", "content": "Write the report for the board."}]
    tools = _tools("transfer_to_analyst")
    first = Said("", (("transfer_to_analyst", {"task": errand}),))
    body = yield Call("openai_chat", {"model": "m", "messages": said, "tools": tools}, first, headers=trace)
    asked: list[Json] = [{"role": "system", "content": "Analyst"}, {"role": "user", "content": errand}]
    body_2 = {"model": "m", "messages": asked, "tools": _tools("sql")}
    found = yield Call("openai_chat", body_2, Said("", (("sql", {"q": "select"}),)), 0, SUBAGENT, trace)
    asked += [chat_turn(found), *chat_results(found, "1, 2")]
    yield Call("openai_chat", {**body_2, "messages": asked}, Said("Figures."), 1, TURN, trace)
    said += [chat_turn(body), *chat_results(body, "Figures.")]
    yield Call("openai_chat", {"model": "m", "messages": said, "tools": tools}, Said("Done."), 0, TURN, trace)


def windowed(seed: int) -> Run:
    """A chat that sends only the last few messages."""
    said: list[Json] = []
    for turn in range(5):
        said.append({"role": "user", "content": f"Question {turn} of conversation {seed}: what follows from that?"})
        body = {"model": "m", "messages": said[-4:]}
        text = f"From what you said in {seed} follows, after {turn} steps, that nothing is certain."
        after = turn - 1 if turn else None
        answer = yield Call("openai_chat", body, Said(text), after, TURN if turn else "")
        said.append(chat_turn(answer))


def chat(seed: int, *answers: str) -> Run:
    """A conversation of few words, identical in all runs, on a connection of its own."""
    said: list[Json] = []
    for turn, text in enumerate(answers):
        said.append({"role": "user", "content": "Hello" if not turn else "go on"})
        after = turn - 1 if turn else None
        answer = yield Call(
            "openai_chat", {"model": "m", "messages": list(said)}, Said(text), after, TURN if turn else ""
        )
        said.append(chat_turn(answer))
