"""The session and parent of a request: what proves them, and what does not."""

from typing import Any
from uuid import uuid4

import pytest

from streamviz.core.events import BlockKind
from streamviz.core.instead import Instead
from streamviz.proxy.conversations import Conversations
from streamviz.proxy.sessions import Sessions
from tests.conversations.agents import Call
from tests.conversations.providers import BODIES, Ids, Json, Said, chat_results, chat_turn
from tests.conversations.worker import Host, Streamed

HELLO = "Hello! How can I help you today?"
LONG = "The build fails since the clock moved: retry.py reads it before it is there. " * 4


def _chat(*messages: Json, answer: Said, more: Json | None = None, **told: Any) -> Call:
    return Call("openai_chat", {"model": "m", "messages": list(messages), **(more or {})}, answer, **told)


def _user(text: str) -> Json:
    return {"role": "user", "content": text}


def _model(text: str) -> Json:
    return {"role": "assistant", "content": text}


def _next(host: Host, *messages: Json, port: int = 1) -> Streamed:
    return host.take(_chat(*messages, answer=Said("Well.")), port)


def _is_after(streamed: Streamed, parent: Streamed) -> bool:
    place = streamed.stream.place
    is_linked = (place.parent, place.relation) == (parent.stream.id, "turn")
    assert (streamed.stream.session_id == parent.stream.session_id) == is_linked
    return is_linked


@pytest.fixture(params=[0, 3, 50], ids=["at-once", "behind", "far-behind"])
def host(request: pytest.FixtureRequest) -> Host:
    return Host(Ids(), behind=request.param)


def test_a_client_that_asks_on_before_its_stream_is_over_goes_on_from_it(host: Host) -> None:
    first, aggregator = host.begin(_chat(_user("Why?"), answer=Said(LONG)), 1)
    host.answer(first, aggregator)
    assert _is_after(_next(host, _user("Why?"), _model(LONG), _user("And?")), first)


def test_of_two_runs_alike_one_that_asks_on_early_goes_on_from_its_own(host: Host) -> None:
    begins, goes_on = _chat(_user("Why?"), answer=Said(LONG)), [_user("Why?"), _model(LONG), _user("And?")]
    first = host.take(begins, 1)
    assert _is_after(_next(host, *goes_on), first)
    second, aggregator = host.begin(begins, 2)
    host.answer(second, aggregator)
    assert _is_after(_next(host, *goes_on, port=2), second)


@pytest.mark.parametrize(("port", "name", "relation"), [(1, "", "retry"), (2, "", ""), (2, "a-run", "retry")])
def test_a_request_that_failed_is_tried_again(host: Host, port: int, name: str, relation: str) -> None:
    """Codex sends nothing with a retry except its session, and makes it on another connection."""
    asked = _chat(_user("Why?"), answer=Said(), fails=True, headers={"x-session-id": name})
    failed, again = host.take(asked, 1), host.take(asked, port)
    assert again.stream.place.relation == relation
    assert (again.stream.place.parent == failed.stream.id) == bool(relation)


def test_what_a_client_goes_on_from_although_it_was_halted_is_not_tried_again_by_another(host: Host) -> None:
    """A front end has conversations of many people on one connection."""
    text = "As nobody who was asked about it could tell for sure where it is kept, it stays "
    asked = _chat(_user("Why?"), answer=Said(f"{text}secret."), halts=True)
    halted = host.take(asked, 1)
    assert _is_after(_next(host, _user("Why?"), _model(f"{text}[Halted by policy rule.]"), _user("And?")), halted)
    assert host.take(asked, 1).stream.session_id != halted.stream.session_id


@pytest.mark.parametrize(
    ("before", "is_proof"),
    [(["Why?"], True), (["Another question, of another conversation, at some length.", "OK", "Why?"], False)],
)
def test_few_words_prove_nothing_in_the_middle_of_another_conversation(
    host: Host, before: list[str], is_proof: bool
) -> None:
    first = host.take(_chat(_user("Why?"), answer=Said("OK")), 1)
    turns = [(_model if number % 2 else _user)(text) for number, text in enumerate(before)]
    assert _is_after(_next(host, *turns, _model("OK"), _user("go on")), first) is is_proof


def test_a_long_answer_is_proof_whatever_its_client_made_of_the_question(host: Host) -> None:
    first = host.take(_chat(_user("Why?\n\nAlways answer in English."), answer=Said(LONG)), 1)
    assert _is_after(_next(host, _user("Why?"), _model(LONG), _user("And?")), first)


def test_an_answer_that_the_client_left_out_is_bridged_by_the_one_before(host: Host) -> None:
    first = host.take(_chat(_user("Why?"), answer=Said(LONG)), 1)
    said = [_user("Why?"), _model(LONG), _user("And?")]
    host.take(_chat(*said, answer=Said("Because."), fails=True), 1)
    assert _next(host, *said, _user("Are you there?")).stream.session_id == first.stream.session_id


@pytest.mark.parametrize("kept", [40, 150, 300])
@pytest.mark.parametrize("port", [1, 2])
def test_an_answer_is_known_by_the_beginning_that_its_client_kept(host: Host, kept: int, port: int) -> None:
    """A person stopped it, or an agent such as gptme read no further than a call written into the text."""
    first = host.take(_chat(_user("Why?"), answer=Said(LONG)), 1)
    said = [_user("Why?"), _model(LONG[:kept]), _user("And?")]
    second = host.take(_chat(*said, answer=Said(f"It is {LONG}")), port)
    assert _is_after(second, first)
    assert _is_after(_next(host, *said, _model(f"It is {LONG[:kept]}"), _user("So?"), port=port), second)


def test_an_answer_that_goes_on_differently_is_not_known_by_its_beginning(host: Host) -> None:
    host.take(_chat(_user("Why?"), answer=Said(LONG)), 1)
    assert _next(host, _user("Why?"), _model(f"{LONG[:100]}{HELLO * 9}"), _user("And?")).stream.place.parent is None


def test_strangers_whose_answers_begin_alike_are_not_taken_for_each_other(host: Host) -> None:
    _strangers(host, (1, 2), LONG)
    assert _goes_on(host, 3, LONG[:150], "Alice").stream.place.parent is None


def test_the_same_words_with_calls_of_their_own_are_another_run(host: Host) -> None:
    answer = Said("", (("bash", {"command": "make test && make lint && make build && make run"}),))
    runs = [host.take(_chat(_user("Mend it."), answer=answer), port) for port in (1, 1)]
    for run in runs:
        said = [_user("Mend it."), chat_turn(run.body), *chat_results(run.body, "ok")]
        assert _is_after(_next(host, *said), run)


CODE = "I read the files first, to see which of them the clock is in.\n<code>\nprint(open('retry.py').read())\n"


def _smolagents(text: str, *calls: Json) -> Json:
    """An answer as smolagents sends it back: with its calls in its text, whoever made them."""
    told = "\n".join(filter(None, [text, f"Calling tools:\n{list(calls)}"]))
    return {"role": "assistant", "content": [{"type": "text", "text": told}]}


@pytest.mark.parametrize("text", ["", "I look."])
def test_calls_that_smolagents_repeats_in_a_text_are_known_by_their_ids(host: Host, text: str) -> None:
    answer = Said(text, (("look", {"command": "it's"}), ("look", {"command": "ls"})))
    runs = [host.take(_chat(_user("Mend it."), answer=answer), port) for port in (1, 1)]
    for run in runs:
        calls = chat_turn(run.body)["tool_calls"]
        told = [{**call, "function": {"name": "look", "arguments": {"command": "it's"}}} for call in calls]
        assert _is_after(_next(host, _user("Mend it."), _smolagents(text, *told), _user("Observation:\ndone")), run)


@pytest.mark.parametrize("end", ["</code>", "\n</code>"])
def test_code_that_smolagents_runs_is_known_by_what_was_said(host: Host, end: str) -> None:
    """It closes the code block, before which the model stopped, and adds a call that the model did not make."""
    first = host.take(_chat(_user("Mend it."), answer=Said(CODE)), 1)
    made = {"name": "python_interpreter", "arguments": "print(open('retry.py').read())"}
    ran = _smolagents(CODE.rstrip() + end, {"id": "call_1", "type": "function", "function": made})
    assert _is_after(_next(host, _user("Mend it."), ran, _user("Observation:\nimport time")), first)


def _strangers(host: Host, ports: tuple[int, int], answer: str, **more: Json) -> list[Streamed]:
    """Two strangers who say the same and get the same answer; `more` are additional fields of each one's request."""
    told = [more.get(name, {}) for name in ("alice", "bob")]
    calls = [_chat(_user("hi"), answer=Said(answer)) for _ in told]
    for call, fields in zip(calls, told, strict=True):
        call.body.update(fields)
    return [host.take(call, port) for call, port in zip(calls, ports, strict=True)]


def _goes_on(host: Host, port: int, answer: str, who: str, **more: Any) -> Streamed:
    call = _chat(_user("hi"), _model(answer), _user(f"I am {who}."), answer=Said("Well."))
    call.body.update(more)
    return host.take(call, port)


@pytest.mark.parametrize("answer", [HELLO, LONG])
@pytest.mark.parametrize("ports", [(1, 2, 3, 4), (1, 1, 1, 1), (1, 2, 3, 3), (1, 1, 2, 1)])
def test_strangers_who_begin_alike_are_not_taken_for_each_other(
    host: Host, answer: str, ports: tuple[int, int, int, int]
) -> None:
    alice, bob = _strangers(host, ports[:2], answer)
    later = [_goes_on(host, port, answer, who) for port, who in zip(ports[2:], ("Alice", "Bob"), strict=True)]
    assert len({each.stream.session_id for each in (alice, bob, *later)}) == 4
    assert [each.stream.place.parent for each in later] == [None, None]
    said = [_user("hi"), _model(answer), _user("I am Bob."), _model("Well."), _user("And?")]
    assert _is_after(_next(host, *said, port=5), later[1])


def test_a_connection_of_its_own_tells_who_goes_on(host: Host) -> None:
    alice, bob = _strangers(host, (1, 2), HELLO)
    assert _is_after(_goes_on(host, 1, HELLO, "Alice"), alice)
    assert _is_after(_goes_on(host, 2, HELLO, "Bob"), bob)


def test_a_connection_that_others_share_tells_nothing(host: Host) -> None:
    _strangers(host, (1, 2), HELLO)
    _next(host, _user("Something else."), port=2)
    assert _goes_on(host, 2, HELLO, "Alice").stream.place.parent is None


@pytest.mark.parametrize(
    ("alice", "bob"),
    [
        ({"user": "alice"}, {"user": "bob"}),
        ({"safety_identifier": "a"}, {"safety_identifier": "b"}),
        ({"model": "large"}, {"model": "small"}),
        ({"tools": [{"type": "function", "function": {"name": "salary"}}]}, {}),
        ({"messages": [{"role": "system", "content": "You are of HR."}]}, {}),
    ],
)
def test_what_a_program_says_of_itself_tells_who_goes_on(host: Host, alice: Json, bob: Json) -> None:
    def call(fields: Json, *said: Json) -> Streamed:
        asked = _chat(*fields.get("messages", ()), *said, answer=Said(HELLO))
        asked.body.update({name: value for name, value in fields.items() if name != "messages"})
        return host.take(asked, 1)

    of_alice, of_bob = call(alice, _user("hi")), call(bob, _user("hi"))
    assert _is_after(call(alice, _user("hi"), _model(HELLO), _user("And?")), of_alice)
    assert _is_after(call(bob, _user("hi"), _model(HELLO), _user("And?")), of_bob)


@pytest.mark.parametrize("answer", [HELLO, LONG])
def test_another_user_never_goes_on_from_what_one_was_told(host: Host, answer: str) -> None:
    _strangers(host, (1, 1), answer, alice={"user": "alice"}, bob={"user": "alice"})
    assert _goes_on(host, 1, answer, "Bob", user="bob").stream.place.parent is None


@pytest.mark.parametrize("kept", [32, 200])
def test_another_user_never_goes_on_from_the_beginning_of_what_one_was_told(host: Host, kept: int) -> None:
    first = _chat(_user("hi"), answer=Said(LONG))
    first.body["user"] = "alice"
    host.take(first, 1)
    assert _goes_on(host, 1, LONG[:kept], "Bob", user="bob").stream.place.parent is None


@pytest.mark.parametrize("format", sorted(BODIES))
def test_what_stands_over_a_conversation_tells_who_goes_on(host: Host, format: str) -> None:
    fields = {"anthropic_messages": "system", "openai_responses": "instructions", "gemini": "systemInstruction"}
    turns, text = (
        ("contents", lambda role, text: {"role": role.replace("assistant", "model"), "parts": [{"text": text}]})
        if format == "gemini"
        else (
            "input" if format == "openai_responses" else "messages",
            lambda role, text: {"role": role, "content": text},
        )
    )

    def call(system: str, *said: Json) -> Streamed:
        over = {"parts": [{"text": system}]} if format == "gemini" else system
        own = {fields[format]: over} if format in fields else {}
        first = [] if own else [text("system", system)]
        return host.take(Call(format, {"model": "m", **own, turns: [*first, *said]}, Said(HELLO)), 1)

    begins = [text("user", "hi")]
    ours, _ = call("You are of HR.", *begins), call("You sell shoes.", *begins)
    assert _is_after(call("You are of HR.", *begins, text("assistant", HELLO), text("user", "And?")), ours)


def test_what_is_not_stored_yet_of_a_stranger_counts(host: Host) -> None:
    alike = _chat(_user("hi"), answer=Said(HELLO))
    host.take(alike, 1)
    other, aggregator = host.begin(alike, 2)
    host.answer(other, aggregator)
    assert _goes_on(host, 3, HELLO, "Bob").stream.place.parent is None


def test_a_conversation_may_be_gone_back_to_on_any_connection(host: Host) -> None:
    first = host.take(_chat(_user("hi"), answer=Said(HELLO)), 1)
    assert _is_after(_goes_on(host, 2, HELLO, "Alice"), first)
    fork = _goes_on(host, 3, HELLO, "Alice again").stream
    assert (fork.place.parent, fork.place.relation) == (first.stream.id, "fork")
    assert fork.session_id == first.stream.session_id


def test_an_agent_that_smolagents_manages_is_told_its_task_among_other_words(host: Host) -> None:
    errand = "Read every file of this module.\n---\nReport each one that has no test of its own."
    manager = host.take(_chat(_user("Mend it."), answer=Said("", (("reader", {"task": errand}),))), 1)
    words = "New task:\nYou're a helpful agent named 'reader'.\nYou have been submitted this task by your manager."
    told = f"{words}\n---\nTask:\n{errand}\n---\nYou're helping your manager solve a wider task: so make sure to"
    place = _next(host, _user(told), port=1).stream.place
    assert (place.parent, place.relation) == (manager.stream.id, "subagent")


def test_an_agent_of_adks_that_takes_over_is_told_what_was_said_in_words(host: Host) -> None:
    said: list[Json] = [{"role": "user", "parts": [{"text": "Mend it."}]}]

    def take(answer: Said) -> Streamed:
        return host.take(Call("gemini", {"model": "m", "contents": list(said)}, answer), 1)

    first = take(Said("", (("transfer_to_agent", {"agent_name": "mender"}),)))
    told = ["called tool `transfer_to_agent` with parameters: {'agent_name': 'mender'}"]
    told.append("`transfer_to_agent` tool returned result: {'result': None}")
    said += [{"role": "user", "parts": [{"text": "For context:"}, {"text": f"[lead] {each}"}]} for each in told]
    second = take(Said(LONG))
    assert _is_after(second, first)
    said.append({"role": "user", "parts": [{"text": "For context:"}, {"text": f"[mender] said: {LONG}"}]})
    assert _is_after(take(Said("Fine.")), second)


def test_an_errand_that_strangers_gave_is_nobodys(host: Host) -> None:
    errand = "Read every file of this module and report each one that has no test of its own."
    for port in (1, 2):
        host.take(_chat(_user("Mend it."), answer=Said("", (("task", {"prompt": errand}),))), port)
    assert _next(host, _user(errand), port=3).stream.place.parent is None


@pytest.mark.parametrize(("tools", "is_called"), [(("search", "answer"), False), (("fetch",), True)])
@pytest.mark.parametrize("before", [[], [_user("Hello!"), _model("What would you like to know about our products?")]])
def test_a_question_that_is_handed_on_word_for_word_is_not_an_errand_for_the_same_agent(
    host: Host, tools: tuple[str, ...], is_called: bool, before: list[Json]
) -> None:
    """Another person may ask the same while its agent searches for it; an agent that it manages has tools of its
    own."""
    question = "Which of your products has the longest warranty, and how long is it?"
    call, offered = Said("", (("search", {"query": question}),)), _offering("search", "answer")
    first = host.take(_chat(*before, _user(question), answer=call, more=offered), 1)
    second = host.take(_chat(_user(question), answer=call, more=_offering(*tools)), 1).stream
    assert second.place.parent == (first.stream.id if is_called else None)
    assert (second.session_id == first.stream.session_id) is is_called


def _called_in_the_background(host: Host, *tools: str, minutes: int = 0) -> tuple[Streamed, Streamed]:
    """As Qwen Code does: a call is answered at once, and its caller goes on while the sub-agent begins. Returns the
    caller, and what is asked with these tools that many minutes later."""
    errand = "Read every file of this module and report each one that has no test of its own."
    said, offered = [_user("Mend it.")], _offering("agent", "shell")
    call = Said("", (("agent", {"prompt": errand, "run_in_background": True}),))
    caller = host.take(_chat(*said, answer=call, more=offered), 1)
    said += [chat_turn(caller.body), *chat_results(caller.body, "It works in the background.")]
    host.take(_chat(*said, answer=Said("Meanwhile."), more=offered), 1)
    Host.clock += minutes * 60_000_000
    return caller, host.take(_chat(_user(errand), answer=Said("None."), more=_offering(*tools)), 2)


def _offering(*tools: str) -> Json:
    return {"tools": [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]}


def test_a_sub_agent_may_begin_when_its_caller_has_gone_on(host: Host) -> None:
    caller, called = _called_in_the_background(host, "shell", "read")
    assert called.stream.place.parent == caller.stream.id
    assert called.stream.place.relation == "subagent"
    assert called.stream.session_id == caller.stream.session_id


@pytest.mark.parametrize(("tools", "minutes"), [(("agent", "shell"), 0), (("shell", "read"), 2)])
def test_words_of_a_call_may_be_a_persons_once_it_is_answered(host: Host, tools: tuple[str, ...], minutes: int) -> None:
    """Where the same agent begins with them, or any agent later."""
    caller, other = _called_in_the_background(host, *tools, minutes=minutes)
    assert other.stream.place.parent is None
    assert other.stream.session_id != caller.stream.session_id


def test_a_call_begins_one_sub_agent(host: Host) -> None:
    _, called = _called_in_the_background(host, "shell", "read")
    again = host.take(_chat(*called.call.body["messages"], answer=Said("None."), more=_offering("shell", "read")), 3)
    assert again.stream.session_id != called.stream.session_id


def _opencode(host: Host, *words: str, **more: Json) -> Streamed:
    told = {"x-session-affinity": "ses_0000000000Ab3dEf6hIj9k"}
    return host.take(_chat(*map(_user, words), answer=Said("Well."), headers=told, more=more), 1)


TITLE = ("Generate a title for this conversation:\n", "Mend it.")


@pytest.mark.parametrize("is_first", [True, False])
def test_what_an_agent_asks_for_a_title_is_not_the_conversation(host: Host, is_first: bool) -> None:
    """opencode asks for one before its first turn, Kilo CLI beside it."""
    title = _opencode(host, *TITLE) if is_first else None
    turn = _opencode(host, "Mend it.", **_offering("shell"))
    title = title or _opencode(host, *TITLE)
    assert (turn.stream.place.parent, turn.stream.place.relation) == (None, "")
    assert title.stream.place.parent == (None if is_first else turn.stream.id)
    assert title.stream.place.relation == "subagent"
    assert (title.stream.session_label, turn.stream.session_label) == ("", "Mend it.")


CLAUDE_CODE = {"x-claude-code-session-id": "3f6c1d1e-0000-4000-8000-000000000001"}


@pytest.mark.parametrize("headers", [CLAUDE_CODE, {}], ids=["named", "unnamed"])
@pytest.mark.parametrize(
    "aside",
    [
        "[SUGGESTION MODE: Suggest what the user might naturally type next into Claude Code.]\n\nFIRST: Look",
        "<system-reminder>This is a side question from the user. You must answer it.</system-reminder>\n\nWhy?",
        "Managed memory has TWO directories. Choose which one to write each memory into",
    ],
)
def test_a_person_goes_on_from_the_answer_before_what_an_agent_asks_itself(
    host: Host, headers: dict[str, str], aside: str
) -> None:
    """Claude Code and Qwen Code ask after each answer what a person may type next, and what to remember."""
    offered, said = _offering("shell"), [_user("Mend it."), _model(LONG)]

    def ask(*messages: Json, answer: str = "Well.") -> Streamed:
        return host.take(_chat(*messages, answer=Said(answer), headers=headers, more=offered), 1)

    first = ask(said[0], answer=LONG)
    suggested = ask(*said, _user(aside), answer="Run the tests.")
    place = suggested.stream.place
    assert (place.parent, place.relation) == (first.stream.id, "subagent")
    assert _is_after(ask(*said, _user("Run the tests.")), first)


def test_what_an_agent_asks_for_itself_is_told_as_such_though_another_worker_has_the_answer(host: Host) -> None:
    said = [_user("Mend it."), _model(LONG), _user("[SUGGESTION MODE: Suggest what the user might type next.]")]
    place = host.take(_chat(*said, answer=Said("Run it."), headers=CLAUDE_CODE), 1).stream.place
    assert (place.parent, place.relation) == (None, "subagent")
    assert place.asked


@pytest.mark.parametrize("is_first", [True, False])
def test_claude_codes_title_is_not_the_conversation(host: Host, is_first: bool) -> None:
    def ask(text: str, **more: Json) -> Streamed:
        return host.take(_chat(_user(text), answer=Said("Well."), headers=CLAUDE_CODE, more=more), 1)

    words = "<session>\nMend it.\n</session>\n\nWrite the title in the language of the session."
    title = ask(words) if is_first else None
    turn = ask("Mend it.", **_offering("shell"))
    title = title or ask(words)
    assert title.stream.place.relation == "subagent"
    assert (turn.stream.place.parent, turn.stream.place.relation) == (None, "")


def test_a_person_may_ask_for_a_title(host: Host) -> None:
    place = _opencode(host, TITLE[0], **_offering("shell")).stream.place
    assert (place.parent, place.relation) == (None, "")


@pytest.mark.parametrize("is_held", [False, True])
def test_a_request_is_tried_again_while_its_client_has_given_up_on_the_first(host: Host, is_held: bool) -> None:
    said = [_user("hi"), _model(LONG), _user("Why?")]
    first, exchange = host.begin(_chat(*said, answer=Said(HELLO)), 1)
    if is_held:
        host.answer(first, exchange)  # everything has arrived, but its client has none of it
    again = _chat(*said, answer=Said(HELLO), headers={"x-stainless-retry-count": "1"})
    place = host.take(again, 2).stream.place
    assert (place.parent, place.relation) == (first.stream.id, "retry")


def test_a_request_that_was_answered_is_not_tried_again(host: Host) -> None:
    again = _chat(_user("Why?"), answer=Said(HELLO), headers={"x-stainless-retry-count": "1"})
    first = host.take(_chat(_user("Why?"), answer=Said(HELLO)), 1)
    assert host.take(again, 1).stream.place.parent != first.stream.id


def test_two_requests_alike_that_failed_are_not_tried_again_for_each_other(host: Host) -> None:
    failed = _chat(_user("hi"), answer=Said(), fails=True)
    host.take(failed, 1)
    other = _chat(_user("Something else."), answer=Said("OK"))
    host.take(other, 1)
    host.take(_chat(_user("hi"), answer=Said(), fails=True, headers={"x-session-id": "theirs"}), 1)
    again = _chat(_user("hi"), answer=Said(HELLO), headers={"x-stainless-retry-count": "1"})
    assert host.take(again, 1).stream.place.parent is None


def test_a_call_before_the_last_answer_tells_whose_that_is(host: Host) -> None:
    said = []
    for _ in range(2):
        first = host.take(_chat(_user("Mend it."), answer=Said("", (("bash", {"command": "make"}),))), 1)
        turns = [_user("Mend it."), chat_turn(first.body), *chat_results(first.body, "ok")]
        said.append((turns, host.take(_chat(*turns, answer=Said(LONG)), 1)))
    for turns, told in said:
        assert _is_after(_next(host, *turns, _model(LONG), _user("And?")), told)


@pytest.mark.parametrize("results", [["[cleared]"], ["ok", "ok"]], ids=["cleared", "doubled"])
@pytest.mark.parametrize("are_counted", [False, True])
def test_a_short_answer_is_known_by_the_calls_before_it_whatever_became_of_their_results(
    results: list[str], are_counted: bool
) -> None:
    """Agents clear old results, and Gemini CLI sends results twice after it resumes a conversation."""
    host = Host(Ids(are_counted=are_counted))
    answer = Said("", (("bash", {"command": "make test && make lint && make build && make run"}),))
    called = host.take(_chat(_user("Mend it."), answer=answer), 1)
    turns = [_user("Mend it."), chat_turn(called.body)]
    told = host.take(_chat(*turns, *chat_results(called.body, "ok"), answer=Said("Done.")), 1)
    later = [chat_results(called.body, result)[0] for result in results]
    asked = [*turns, *later, _model("Done."), _user("And?")]
    again = host.take(_chat(*asked, answer=Said("Done.")), 2)
    assert _is_after(again, told)
    assert _is_after(_next(host, *asked, _model("Done."), _user("So?"), port=3), again)


def test_a_short_answer_after_a_short_call_proves_nothing_whatever_was_said_beside_the_call() -> None:
    host = Host(Ids(are_counted=True))
    called = host.take(_chat(_user("Mend it."), answer=Said(LONG, (("bash", {"command": "ls"}),))), 1)
    results = chat_results(called.body, "ok")
    host.take(_chat(_user("Mend it."), chat_turn(called.body), *results, answer=Said("Done.")), 1)
    of_another = {**chat_turn(called.body), "content": f"Something else. {LONG}"}
    other = _next(host, _user("Other."), of_another, *results, _model("Done."), _user("And?"), port=2)
    assert (other.stream.place.parent, other.stream.place.relation) == (None, "")


def test_ids_that_a_provider_counts_prove_nothing() -> None:
    host = Host(Ids(are_counted=True))
    host.take(_chat(_user("Mend it."), answer=Said("", (("bash", {"command": "ls"}),))), 1)
    call = {"id": "call_0", "type": "function", "function": {"name": "rm", "arguments": "{}"}}
    other = _next(host, _user("Other."), {"role": "assistant", "tool_calls": [call]}, _user("Go on."))
    assert (other.stream.place.parent, other.stream.place.relation) == (None, "")


def test_what_the_client_got_in_place_of_a_call_is_what_it_repeats(host: Host) -> None:
    call = _chat(_user("Mend it."), answer=Said("I'll see.", (("rm", {"path": "/"}),)))
    first, aggregator = host.begin(call, 1)
    first.stream.context.instead[1] = Instead(BlockKind.CONTENT, [f"rm is not allowed here. {LONG}"])
    host.end(first, aggregator)
    said = [_user("Mend it."), _model(f"I'll see.rm is not allowed here. {LONG}"), _user("And?")]
    assert _is_after(_next(host, *said), first)


def test_marks_are_numbers_that_other_secrets_and_keys_do_not_give(host: Host) -> None:
    first = host.take(_chat(_user("Why?"), answer=Said(LONG)), 1)
    assert all(-(2**63) <= mark < 2**63 for mark in first.stream.place.marks)
    other = Host(Ids())
    other.sessions = Sessions("of another installation")
    second = other.take(_chat(_user("Why?"), answer=Said(LONG)), 1)
    assert not set(first.stream.place.marks) & set(second.stream.place.marks)


def test_a_moved_session_takes_along_what_goes_on_from_it(host: Host) -> None:
    first = host.take(_chat(_user("Why?"), answer=Said(LONG)), 1)
    said = [_user("Why?"), _model(LONG), _user("And?")]
    second = _next(host, *said)
    other = _next(host, _user("Something else."))
    new = other.stream.session_id
    moved = host.sessions.move(first.stream.id, first.stream.session_id, new)
    assert moved == {first.stream.id, second.stream.id}
    third = _next(host, *said, _model("Well."), _user("So?"))
    assert (third.stream.session_id, third.stream.place.parent) == (new, second.stream.id)


def test_memory_is_bounded_and_what_is_forgotten_leaves_nothing(host: Host) -> None:
    host.sessions._conversations = known = Conversations(most=10)
    for number in range(50):
        host.take(_chat(_user(f"Question {number}"), answer=Said(f"{number} {LONG}")), 1)
    assert len(known._known) == 10
    host.finish()
    assert not known._over
    assert {one.id for alike in known._by_mark.values() for one in alike} == set(known._known)
    assert len(known._in_session) <= 11
    assert not known._running


def test_streams_that_are_moved_leave_nothing_behind(host: Host) -> None:
    host.sessions._conversations = known = Conversations(most=20)
    one_for_all = uuid4()
    for number in range(100):
        stream = host.take(_chat(_user(f"Question {number}"), answer=Said(f"{number} {LONG}")), 1).stream
        for session in (uuid4(), one_for_all):
            assert known.move(stream.id, stream.session_id, session) == {stream.id}
            stream.session_id = session
    assert len(known._in_session) <= 21
    assert len(known._in_session[one_for_all]) <= 20


def test_a_trace_holds_together_what_nothing_else_does(host: Host) -> None:
    def traced(text: str, trace: str) -> Streamed:
        headers = {"traceparent": f"00-{trace * 32}-{'1' * 16}-01"}
        return host.take(_chat(_user(text), answer=Said("OK"), headers=headers), 1)

    one, two, other = traced("First", "a"), traced("Second", "a"), traced("Second", "b")
    assert one.stream.session_id == two.stream.session_id != other.stream.session_id
    assert one.stream.session_id.version == 8


def test_what_goes_by_the_name_of_a_deleted_session_is_labelled_anew() -> None:
    sessions = Sessions("secret")
    session = sessions.named("owner", "mine")
    spent = sessions.counts(session, 1)
    assert sessions.label(session, lambda: "first") == "first"
    assert sessions.label(session, lambda: "second") == "first"
    sessions.forget_label(session)
    assert sessions.label(session, lambda: "third") == "third"
    assert sessions.counts(session, 2) is spent  # limits still count
