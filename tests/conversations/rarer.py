"""Less common runs: other formats, answers changed by a policy, several choices, failures and fallbacks, compaction,
identical agents. See `agents`."""

import uuid
from typing import Any

from tests.conversations.agents import FIX, FORK, REMINDER, RETRY, SUBAGENT, TURN, Call, Run
from tests.conversations.providers import (
    Json,
    Said,
    chat_results,
    chat_turn,
    gemini_results,
    gemini_turn,
    messages_results,
    messages_turn,
    responses_results,
    without_ids,
)

DENIED = "[Denied by policy shell.]"
INTERRUPTED = "[Request interrupted by user]"
STORY = "Tell me a story about the sea, please, as long as you like."


def _user(text: str) -> Json:
    return {"role": "user", "content": text}


def _said(text: str, role: str = "user") -> Json:
    return {"role": role, "parts": [{"text": text}]}


def _declared(*names: str) -> list[Json]:
    return [{"functionDeclarations": [{"name": name, "parameters": {"type": "OBJECT"}} for name in names]}]


def _gemini(contents: list[Json], answer: Said, after: int | None, **more: Any) -> Call:
    body = {"model": "m", "stream": False, "contents": contents, "tools": _declared("run_shell_command", "read_file")}
    return Call("gemini", body | more, answer, after, TURN if after is not None else "")


def _shell(command: str) -> Said:
    return Said("", (("run_shell_command", {"command": command}),))


def gemini_cli(seed: int, *, task: str = FIX, turns: int = 3) -> Run:
    """Gemini CLI: its session has no name and its calls no ids; it shortens a long history."""
    said = [_said(f"<session_context>\nThe folder is /home/me/{seed}.\n</session_context>"), _said(task)]
    for turn in range(turns):
        answer = yield _gemini(list(said), _shell(f"make part-{seed}-{turn}"), turn - 1 if turn else None)
        said += [gemini_turn(answer), gemini_results(answer, f"exit {turn}")]
    said.append(_said("What was it?"))
    done = f"All parts of module {seed} are built; the last of them took a file out that all tests read first."
    answer = yield _gemini(list(said), Said(done), turns - 1)
    snapshot = [
        _said("<state_snapshot>\nAll is built.\n</state_snapshot>"),
        _said("Got it. Thanks for the additional context!", "model"),
    ]
    said = [*snapshot, said[-1], gemini_turn(answer), _said("And now the tests.")]
    yield _gemini(said, _shell(f"make test-{seed}"), turns)


def gemini_chat(seed: int) -> Run:
    """google-genai's chats: names in the other spelling, and only the model's turns have a role."""
    said: list[Json] = []
    for turn in range(3):
        said.append({"parts": [{"text": f"Question {turn} about the river Aare."}]})
        text = f"In {seed} of all books it says {turn} times that the river comes from the mountains, and goes on."
        body = {"system_instruction": {"parts": [{"text": "Be brief."}]}, "tools": []}
        answer = yield _gemini(list(said), Said(text), turn - 1 if turn else None, **body)
        said.append(gemini_turn(answer))


def gemini_retried(seed: int) -> Run:
    """google-genai gives no sign of a retry."""
    said = [_said(FIX)]
    answer = yield _gemini(list(said), _shell(f"make all-{seed}"), None)
    said += [gemini_turn(answer), gemini_results(answer, f"made {seed}")]
    failed = _gemini(said, Said(), 0)
    yield Call(failed.format, failed.body, Said(), 0, TURN, fails=True)
    yield Call(failed.format, failed.body, _shell(f"make more-{seed}"), 1, RETRY)


def gemini_helper(seed: int) -> Run:
    """An agent of Google's ADK that hands work to another with other tools."""
    errand = f"Collect what the logs of service {seed} say of timeouts, and count them by hour."
    said = [_said("Why is it slow?")]
    ask = Said("", (("transfer_to_agent", {"request": errand}),))
    body = yield _gemini(list(said), ask, None, tools=_declared("transfer_to_agent"))
    asked = [_said(errand)]
    found = _gemini(asked, _shell(f"grep timeout {seed}"), 0)
    answer = yield Call("gemini", found.body, found.answer, 0, SUBAGENT)
    yield _gemini([*asked, gemini_turn(answer), gemini_results(answer, "3 at noon")], Said("Three at noon."), 1)
    said += [gemini_turn(body), gemini_results(body, "Three at noon.")]
    yield _gemini(said, Said("At noon it is."), 0, tools=_declared("transfer_to_agent"))


def denied(seed: int) -> Run:
    """A policy denies a call, the client gets its text instead, and the person continues."""
    said = [_user(f"Clean up module {seed}.")]
    answer = yield Call("openai_chat", {"model": "m", "messages": list(said)}, Said(f"I look at {seed} first."))
    said += [chat_turn(answer), _user("Go on.")]
    for turn in range(1, 4):
        rm = Said("", (("bash", {"command": "rm -rf /"}),))
        yield Call("openai_chat", {"model": "m", "messages": list(said)}, rm, turn - 1, TURN, instead={0: DENIED})
        said += [{"role": "assistant", "content": DENIED}, _user("Do it otherwise." if turn < 2 else "Again.")]


def denied_beside(seed: int) -> Run:
    """One of two calls is denied, and the agent runs the other."""
    said = [_user(f"Clean up module {seed}.")]
    two = Said("", (("Bash", {"command": "rm -rf /"}), ("Bash", {"command": "ls"})))
    body = {"model": "m", "max_tokens": 9}
    # The thinking is block 0.
    answer = yield Call("anthropic_messages", {**body, "messages": list(said)}, two, instead={1: DENIED})
    [call] = [part for part in answer["content"] if part.get("input") == {"command": "ls"}]
    kept = {**answer, "content": [{"type": "text", "text": DENIED}, call]}
    said += [messages_turn(kept), messages_results(kept, "a b")]
    yield Call("anthropic_messages", {**body, "messages": said}, Said("Two files."), 0, TURN)


def halted(seed: int) -> Run:
    """Letta and Droid repeat a request whose answer a policy halts; the person continues from the last attempt."""
    said = [_user(f"Look after service {seed}.")]
    answer = yield Call("openai_chat", {"model": "m", "messages": list(said)}, Said(f"I look at service {seed} first."))
    said += [chat_turn(answer), _user("Where is its key?")]
    text = ""
    for number in range(3):
        text = f"Its key, which service {seed} reads from line {number} of its settings, is "
        after = (number, RETRY) if number else (0, TURN)
        body = {"model": "m", "messages": list(said)}
        yield Call("openai_chat", body, Said(f"{text}secret."), *after, halts=True)
    said += [{"role": "assistant", "content": f"{text}[Halted by policy rule.]"}, _user("Then do without.")]
    yield Call("openai_chat", {"model": "m", "messages": said}, Said("Done."), 3, TURN)


def replaced(seed: int) -> Run:
    """A policy replaces words in a text, and the client sends back what it got."""
    text = f"The key of service {seed} is sk-1234567890, and it stands in the second line of the settings."
    told = text.replace("sk-1234567890", "[gone]")
    said = [_user("Where is the key?")]
    yield Call("openai_chat", {"model": "m", "messages": list(said)}, Said(text), instead={0: told})
    said += [{"role": "assistant", "content": told}, _user("Which one?")]
    yield Call("openai_chat", {"model": "m", "messages": said}, Said("The second."), 0, TURN)


def codex_compacted(seed: int) -> Run:
    """Codex compacts its history, and continues from the summary in the same session."""
    session = str(uuid.UUID(int=seed << 64 | 0xC0DEC))
    headers = {"session-id": session, "thread-id": session, "user-agent": "codex_cli_rs/0.169.0"}
    body = {"model": "m", "store": False, "prompt_cache_key": session, "tools": [{"type": "function", "name": "shell"}]}
    said = [_user(FIX)]
    last: int | None = None
    for turn in range(2):
        asked = Said("", (("shell", {"command": ["make", str(turn)]}),))
        answer = yield Call(
            "openai_responses", {**body, "input": list(said)}, asked, last, TURN if turn else "", headers
        )
        said += [*without_ids(answer["output"]), *responses_results(answer, "ok")]
        last = turn
    sum_up = [*said, _user("You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.")]
    yield Call("openai_responses", {**body, "input": sum_up}, Said("Half of it is built."), 1, TURN, headers)
    said = [_user(FIX), _user("Another language model started to solve this problem: Half of it is built.")]
    answer = yield Call(
        "openai_responses", {**body, "input": list(said)}, Said("", (("shell", {"command": ["ls"]}),)), headers=headers
    )
    said += [*without_ids(answer["output"]), *responses_results(answer, "a b")]
    yield Call("openai_responses", {**body, "input": said}, Said("Done."), 3, TURN, headers)


def merged_steps(seed: int, *, turns: int = 4) -> Run:
    """Mastra with Anthropic's models: all steps of a turn are merged into one message, and so are their results."""
    begins, calls, results = [_user(FIX)], list[Json](), list[Json]()
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    for turn in range(turns):
        so_far = [{"role": "assistant", "content": list(calls)}, {"role": "user", "content": list(results)}]
        body = {"model": "m", "max_tokens": 9, "tools": tools, "messages": [*begins, *(so_far if turn else [])]}
        asked = Said("", (("look", {"at": f"part {turn}"}), ("look", {"at": f"file {turn} of {seed}"})))
        after = (turn - 1, TURN) if turn else (None, "")
        answer = yield Call("anthropic_messages", body, asked, *after)
        calls += messages_turn(answer)["content"]
        results += messages_results(answer, "a", "b")["content"]


def twin_helpers(seed: int, *, is_named: bool, is_brief: bool = False) -> Run:
    """Two sub-agents with the same task at the same time; if `is_brief`, the task tells nothing about the session."""
    session = str(uuid.UUID(int=seed << 64 | 0xC0DE))
    headers = {"x-claude-code-session-id": session} if is_named else {}
    errand = f"Read every file of module {seed} and report each one that has no test of its own."
    errand = "Look around." if is_brief else errand
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("Task", "Bash")]
    body = {"model": "m", "max_tokens": 9}
    given = {"description": "look", "prompt": errand, "subagent_type": "general-purpose"}
    said = [_user(FIX)]
    two = Said("", (("Task", given), ("Task", given)))
    first = yield Call("anthropic_messages", {**body, "tools": tools, "messages": list(said)}, two, headers=headers)
    asked = [{"role": "user", "content": [{"type": "text", "text": REMINDER}, {"type": "text", "text": errand}]}]
    helper = {**body, "tools": tools[1:]}
    look = Said("", (("Bash", {"command": "ls"}),))
    found = []
    for number in range(2):
        own = {**headers, "x-claude-code-agent-id": f"a{number}"} if is_named else {}
        told = Call("anthropic_messages", {**helper, "messages": list(asked)}, look, 0, SUBAGENT, own)
        found.append((yield told))
    for number, each in enumerate(found, 1):
        more = [*asked, messages_turn(each), messages_results(each, "a b c")]
        yield Call("anthropic_messages", {**helper, "messages": more}, Said("None."), number, TURN, headers)
    said += [messages_turn(first), messages_results(first, "None.", "None.")]
    yield Call("anthropic_messages", {**body, "tools": tools, "messages": said}, Said("So be it."), 0, TURN, headers)


def limited(seed: int) -> Run:
    """A 429 in the middle of a loop, which the SDK retries twice."""
    said = [_user(FIX)]
    body = {"model": "m", "max_tokens": 9}
    asked = Said("", (("bash", {"command": f"make {seed}"}),))
    answer = yield Call("anthropic_messages", {**body, "messages": list(said)}, asked)
    said += [messages_turn(answer), messages_results(answer, "ok")]
    for attempt in range(3):
        headers = {"x-stainless-retry-count": str(attempt)}
        told = (RETRY if attempt else TURN, headers)
        yield Call(
            "anthropic_messages", {**body, "messages": list(said)}, Said("Done."), attempt, *told, fails=attempt < 2
        )


def fallen_back(seed: int, *, is_named: bool) -> Run:
    """A model is overloaded, and the client sends the same request to another one."""
    headers = {"x-session-id": f"run-{seed}"} if is_named else {}
    said = [_user(f"Mend module {seed}.")]
    answer = yield Call(
        "openai_chat", {"model": "large", "messages": list(said)}, Said(f"I read {seed}."), headers=headers
    )
    said += [chat_turn(answer), _user("And?")]
    yield Call("openai_chat", {"model": "large", "messages": list(said)}, Said(), 0, TURN, headers, fails=True)
    answer = yield Call("openai_chat", {"model": "small", "messages": list(said)}, Said("Done."), 1, RETRY, headers)
    said += [chat_turn(answer), _user("Sure?")]
    yield Call("openai_chat", {"model": "small", "messages": said}, Said("Yes."), 2, TURN, headers)


def fallen_back_at_once(seed: int) -> Run:
    """The same for a session's first request, if the client names the session."""
    headers = {"x-session-id": f"at-once-{seed}"}
    said = [_user("Mend it.")]
    yield Call("openai_chat", {"model": "large", "messages": said}, Said(), headers=headers, fails=True)
    yield Call("openai_chat", {"model": "small", "messages": said}, Said("Done."), 0, RETRY, headers)


def chosen(seed: int) -> Run:
    """The client continues with the last of several choices; then a person goes back to the first."""
    texts = [f"Plan {letter} of {seed}: begin with the part that is least understood." for letter in "ABC"]
    said = [_user("Make three plans.")]
    answer = yield Call(
        "openai_chat", {"model": "m", "n": 3, "messages": list(said)}, Said(texts[0], (), tuple(texts[1:]))
    )
    for number, choice in enumerate((2, 0)):
        more = [*said, chat_turn(answer, choice), _user("Do it.")]
        yield Call("openai_chat", {"model": "m", "messages": more}, Said("Done."), 0, FORK if number else TURN)


def one_of_a_batch(seed: int) -> Run:
    """A step mapped over many inputs: each is a conversation of its own, with the same instructions."""
    said = [
        {"role": "system", "content": "Sort this mail into one of: bill, plea, praise."},
        _user(f"Mail {seed}: Hello!"),
    ]
    yield Call("openai_chat", {"model": "m", "messages": said}, Said("praise"))


def many_results(seed: int) -> Run:
    """Results in a different order than their calls, over several rounds."""
    said = [_user(FIX)]
    for turn in range(3):
        calls = tuple(("read", {"path": f"{seed}/{turn}/{number}"}) for number in range(4))
        after = turn - 1 if turn else None
        answer = yield Call(
            "openai_chat", {"model": "m", "messages": list(said)}, Said("", calls), after, TURN if turn else ""
        )
        said += [chat_turn(answer), *reversed(chat_results(answer, "a", "b", "c", "d"))]


def interrupted(seed: int) -> Run:
    """Claude Code, interrupted by its user: the partial answer is a turn, which the user's next message continues."""
    headers = {"x-claude-code-session-id": str(uuid.UUID(int=seed << 64 | 0xC0DE))}
    body = {"model": "m", "max_tokens": 9}
    said = [_user(STORY)]
    text = f"Once upon a time there was a ship with {seed} masts, and nobody knew where it"
    yield Call("anthropic_messages", {**body, "messages": list(said)}, Said(text), headers=headers, leaves=True)
    said += [{"role": "assistant", "content": text}, _user(INTERRUPTED), _user("Shorter.")]
    yield Call("anthropic_messages", {**body, "messages": said}, Said("It sank."), 0, TURN, headers)


def stopped_and_sent_again(seed: int) -> Run:
    """A client that leaves in the middle and sends the same request again."""
    said = [_user(f"{STORY} It has {seed} chapters.")]
    call = {"model": "m", "messages": said}
    yield Call("openai_chat", call, Said("Once upon"), leaves=True)
    answer = yield Call(
        "openai_chat", call, Said(f"Once upon a time there were {seed} chapters, and they were long."), 0, RETRY
    )
    said = [*said, chat_turn(answer), _user("Thanks.")]
    yield Call("openai_chat", {"model": "m", "messages": said}, Said("You're welcome."), 1, TURN)


def tagged(seed: int) -> Run:
    """pydantic-ai with another vendor's model: its unsigned thinking comes back as text."""
    said = [_user("How deep is the lake?")]
    body = {"model": "m", "max_tokens": 9}
    for turn in range(3):
        text = f"It is {seed} metres deep, as I said {turn} times, and cold."
        after = turn - 1 if turn else None
        yield Call("anthropic_messages", {**body, "messages": list(said)}, Said(text), after, TURN if turn else "")
        thought = {"type": "text", "text": "<think>\nLet me see.\n</think>"}
        said += [{"role": "assistant", "content": [thought, {"type": "text", "text": text}]}, _user("Sure?")]
