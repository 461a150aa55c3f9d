"""A running stream, prepared for display."""

from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Mode
from streamviz.live import rendering
from streamviz.live.feed import Feed
from streamviz.live.presentation.facts import facts_of
from streamviz.live.presentation.stream_views import whole_view_of
from streamviz.live.presentation.views import StreamView
from streamviz.policies import build
from tests.core.support import active, call, delta, deny_names
from tests.live.support import SECOND, Running, view_of_running


def seen(running: Running) -> StreamView:
    return whole_view_of(running.stream, view_of_running(running.stream))


def fact(running: Running, name: str) -> str:
    facts = facts_of(seen(running), running.now)
    return next(" ".join((fact.value, fact.note)).strip() for fact in facts if fact.name == name)


async def test_it_tells_the_transitions_of_a_block() -> None:
    running = await Running().wait(0.62).say("Hello")
    block = view_of_running(running.stream).blocks[0]
    assert (block.state, block.steps, block.size) == ("arriving", "0.62 s → arriving", "5 characters, arriving")
    await running.wait(2.28).call("{", "read_file")
    first, second = view_of_running(running.stream).blocks
    assert (first.state, first.steps, first.size) == ("sent", "0.62 → 2.90 s · sent", "5 characters, 2.3 s")
    assert (second.title, second.state) == ("read_file", "arriving")


async def test_it_tells_what_is_held_and_what_waits_behind_it() -> None:
    running = Running(policies=[active(deny_names("rm"))])
    await running.call("{}", "ls")
    await running.wait(1).call("{", "rm", index=1)
    await running.say("text")
    assert [block.state for block in view_of_running(running.stream).blocks] == ["held", "held", "waiting"]


async def test_it_tells_what_was_denied() -> None:
    running = await Running(policies=[active(deny_names("rm"), name="guard")]).call("{}", "rm")
    await running.wait(2).take(delta(finish="tool_calls"))
    block = (await running.end()) and view_of_running(running.stream).blocks[0]
    assert (block.state, block.hold, block.is_denied) == ("never sent", 2 * SECOND, True)
    assert block.verdict is not None
    assert (block.verdict.policy, block.verdict.word, block.verdict.reason) == ("guard", "deny", "listed")
    assert "held 2.00 s" in block.size


async def test_a_block_that_was_held_as_its_stream_ended_was_denied_by_nobody() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).call("{", "ls")
    block = (await running.end("left")) and view_of_running(running.stream).blocks[0]
    assert (block.state, block.is_unsent, block.is_denied) == ("never sent", True, False)


async def test_what_waited_behind_a_hold_as_its_stream_ended_was_never_sent() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).say("first")
    await running.call("{", "ls")
    await running.say("text")
    assert await running.end("left")
    assert [block.state for block in view_of_running(running.stream).blocks] == ["sent", "never sent", "never sent"]


async def test_what_came_behind_a_text_that_halts_the_stream_was_never_sent() -> None:
    rule = build("text_rule", {"patterns": ["bad"], "action": "halt"})
    running = await Running(policies=[active(rule)]).say("first")
    await running.take(delta(content=" bad", tool_calls=[call(0, "a", "ls", "{}")]))
    assert await running.end()
    view = view_of_running(running.stream)
    assert view.outcome == "halted"
    assert [block.state for block in view.blocks] == ["sent", "never sent"]
    assert view.blocks[0].steps.endswith(" · sent in part")
    assert "6 characters of it sent to the client" in rendering.block_card(view.blocks[0], running.stream.id)


async def test_a_shadow_changes_nothing_and_says_what_it_would_do() -> None:
    running = await Running(policies=[active(deny_names("rm"), Mode.SHADOW)]).call("{}", "rm")
    await running.take(delta(finish="tool_calls"))
    block = view_of_running(running.stream).blocks[0]
    assert block.state == "sent"
    assert block.verdict is not None
    assert block.verdict.word == "would deny"


async def test_unknown_figures_are_dashes() -> None:
    running = Running()
    unknown = {name: fact(running, name) for name in ("TTFT upstream", "TTFT client", "ITL p50", "Tokens", "Cost")}
    assert set(unknown.values()) == {"–", "– not reported yet", "– not known yet"}
    await running.end()
    assert fact(running, "Tokens") == "– not reported"


async def test_tokens_that_nobody_told_are_estimated_and_say_so() -> None:
    running = await Running().say("x" * 4_800)
    assert fact(running, "Tokens") == "≈ 1,200 out, estimated"


async def test_a_number_that_is_told_first_is_no_more_than_a_beginning() -> None:
    usage = {"prompt_tokens": 312, "completion_tokens": 1}
    running = await Running().take({**delta(content="x" * 4_800), "usage": usage})
    assert fact(running, "Tokens") == "≈ 1,200 out, 312 in"


async def test_cached_and_thinking_tokens_stand_apart() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 9_884, "cache_write_tokens": 512}}
    thought = {"completion_tokens_details": {"reasoning_tokens": 236}}
    usage = {"prompt_tokens": 11_208, "completion_tokens": 391, **details, **thought}
    running = await Running().take({**delta(finish="stop"), "usage": usage})
    assert fact(running, "Tokens") == "391 out, 11,208 in"
    assert fact(running, "Of these") == "9,884 cached 512 written, 236 thinking"


async def test_an_estimate_is_one_in_the_record_too() -> None:
    running = await Running().end()
    running.stream.tokens, running.stream.cost = Tokens(312, 1_905, is_estimated=True), 0.0123
    assert fact(running, "Tokens") == "≈ 1,905 out, ≈ 312 in"
    assert fact(running, "Cost") == "≈ $0.0123"


async def test_it_measures_what_is_known() -> None:
    running = await Running().wait(0.5).say("a")
    await running.wait(0.02).say("b")
    await running.wait(0.02).take({"choices": [], "usage": {"prompt_tokens": 312, "completion_tokens": 1905}})
    assert fact(running, "TTFT upstream") == "0.50 s"
    assert fact(running, "ITL p50") == "20 ms"
    assert fact(running, "Tokens") == "1,905 out, 312 in"
    await running.wait(1).end()
    assert fact(running, "Duration") == "1.5 s"


async def test_a_running_stream_is_held_or_stalled_or_running() -> None:
    running = await Running(policies=[active(deny_names())]).say("a")
    view = view_of_running(running.stream)
    assert view.state(running.now).word == "running"
    assert view.state(running.now + 6 * SECOND).word == "stalled"
    await running.call("{", "ls")
    assert view_of_running(running.stream).state(running.now + 60 * SECOND).word == "held"
    await running.fail("overloaded")
    assert view_of_running(running.stream).state(running.now).word == "upstream error"


async def test_the_tail_is_the_end_of_the_newest_output() -> None:
    running = await Running().say("one\ntwo")
    assert view_of_running(running.stream).tail == "one two"
    await running.call('{"path"', "read_file")
    assert view_of_running(running.stream).tail == 'read_file {"path"'


async def test_the_view_does_not_change_when_the_stream_does() -> None:
    running = await Running(Feed()).say("one")
    view = seen(running)
    await running.say("two")
    assert (view.blocks[0].text, len(view.received_at)) == ("one", 1)
