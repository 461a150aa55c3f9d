"""A session's page shows the conversation that its requests and answers amount to."""

import html
import json
import re
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from streamviz.core.wire import WIRE_FORMATS
from streamviz.records.models import Block, Policy, Session, Stream, Verdict
from tests.core.test_request_parts import SAID
from tests.dashboard.conftest import NOON, Cast, hold, loaded, recorded
from tests.dashboard.test_sharing import link_to

RAN = [
    {"role": "system", "content": "Be careful."},
    {"role": "user", "content": "Mend the flaky test."},
    {
        "role": "assistant",
        "content": "I run it first.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "4 failed, 16 passed"},
    {"role": "assistant", "content": "It reads the wall clock."},
    {"role": "user", "content": "Then mend that."},
    {"role": "assistant", "content": "Mended."},
]
ENDS = (2, 4, 6)


def turn(session: Session | None, minutes: float, messages: list[Any], **more: Any) -> Stream:
    """A turn whose request has these messages."""
    at = NOON + timedelta(minutes=minutes)
    body = json.dumps({"model": "coder-large", "messages": messages, **more.pop("fields", {})}).encode()
    return recorded(session=session, requested_at=at, ended_at=at + timedelta(seconds=2), request=body, **more)


def answer(stream: Stream, message: dict[str, Any]) -> None:
    """Give a stream the blocks of an answer, from the message in which a client repeats it."""
    usual = {"stream": stream, "first_seq": 0, "last_seq": 0, "started_at": stream.requested_at}
    text = message["content"]
    blocks = [Block(ordinal=0, kind="content", text=text, length=len(text), **usual)]
    for number, call in enumerate(message.get("tool_calls", ()), 1):
        made = call["function"]
        given = {"name": made["name"], "text": made["arguments"], "length": len(made["arguments"])}
        blocks.append(Block(ordinal=number, kind="tool_call", upstream_id=call["id"], **given, **usual))
    Block.objects.bulk_create(blocks)


def ran(**more: Any) -> Session:
    """The session of a run with three turns."""
    session: Session | None = None
    for minutes, end in enumerate(ENDS):
        stream = turn(session, minutes, RAN[:end], **more)
        answer(stream, RAN[end])
        session = stream.session
    assert session is not None
    return session


def page(cast: Cast, session: Session, query: str = "") -> str:
    found = cast["bob"].get(f"/sessions/{session.pk}/{query}")
    assert found.status_code == 200
    return str(found.content.decode())


def words(shown: str) -> str:
    """The text in the middle of the page."""
    middle = shown[shown.index('aria-label="Conversation"') : shown.index("<aside")]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", middle)).split())


@pytest.mark.parametrize(
    ("number", "note"), [(1, ""), (2, "+ model-1"), (4, "+ model-1, + model-2, + model-3"), (6, "5 more: model-1, ")]
)
def test_a_session_says_how_many_models_it_has_besides_those_it_names(cast: Cast, number: int, note: str) -> None:
    session = recorded(requested_model="model-0").session
    for each in range(number):
        for _ in range(number - each):
            recorded(session=session, requested_model=f"model-{each}")
    facts = page(cast, session).partition("<dt>Models</dt>")[2].partition("</dd>")[0]
    assert facts.partition("<small>")[2].startswith(f"<bdi>{note}" if note else "")


def test_a_run_reads_as_the_conversation_that_it_was(cast: Cast) -> None:
    shown = words(page(cast, ran()))
    places = [shown.index(each) for each in ("Be careful.", *(str(message["content"]) for message in RAN[1:]))]
    assert places == sorted(places)
    for message in RAN:
        assert shown.count(message["content"]) == (2 if message["role"] == "system" else 1)


def test_a_result_names_its_call_and_a_call_the_turn_that_answered_it(cast: Cast) -> None:
    shown = words(page(cast, ran()))
    assert "result of run_tests call of turn 1 · after 58.0 s 19 B" in shown
    assert "answered in turn 2 after 58.0 s" in shown


def test_a_call_was_answered_in_the_first_turn_after_it_that_has_its_result(cast: Cast) -> None:
    """If a resumed agent changes an earlier turn, its request adds everything since again. Some providers number their
    calls from the start again in each answer."""
    session = ran()
    last = turn(session, 3, [{"role": "user", "content": "Mend my flaky test."}, *RAN[2:]])
    answer(last, {**RAN[2], "content": "Once more."})
    shown = words(page(cast, session))
    assert shown.count("result of run_tests") == 2
    assert re.findall("answered in turn .", shown) == ["answered in turn 2"]


def test_the_selected_turn_is_in_the_url(cast: Cast) -> None:
    session = ran()
    shown = page(cast, session, "?turn=2")
    assert 'aria-label="Facts of turn 2"' in shown
    assert 'class="turn is-selected" id="t2"' in shown
    assert 'aria-label="Facts of turn 1"' in page(cast, session, "?turn=nonsense")


def test_an_attempt_before_the_last_names_its_turn(cast: Cast) -> None:
    session = ran()
    second = session.streams.order_by("requested_at")[1]
    turn(session, 5, RAN[:4], parent=second.pk, relation="retry")
    shown = page(cast, session, f"?turn={second.pk}")
    assert 'class="turn is-selected" id="t2"' in shown
    assert "1 retried" in shown


def test_a_streams_page_leads_back_to_its_turn(cast: Cast) -> None:
    session = ran()
    stream = session.streams.order_by("requested_at")[1]
    shown = cast["bob"].get(f"/streams/{stream.pk}/").content.decode()
    [query] = set(re.findall(rf'href="/sessions/{session.pk}/(\?turn=[^"]+)"', shown))
    assert 'aria-label="Facts of turn 2"' in page(cast, session, query)


def test_changes_of_tools_and_prompt_are_named_where_they_came(cast: Cast) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("read_file", "apply_patch")]
    first = turn(None, 0, RAN[:2], fields={"tools": tools[:1]})
    turn(first.session, 1, [{"role": "system", "content": "Be quick."}, *RAN[1:4]], fields={"tools": tools})
    shown = words(page(cast, first.session))
    assert "tools changed: 1 added, apply_patch" in shown
    assert "system prompt changed: Be quick." in shown
    assert "read_file + apply_patch turn 2" in shown


@pytest.mark.parametrize("name", SAID)
def test_every_format_is_read(cast: Cast, name: str) -> None:
    said = SAID[name]
    field = WIRE_FORMATS[name].turns
    bodies = [json.dumps({field: part}).encode() for part in (said[:1], said)]
    first = recorded(wire_format=name, request=bodies[0])
    recorded(session=first.session, minutes=1, wire_format=name, request=bodies[1])
    shown = words(page(cast, first.session))
    assert "user Look" in shown
    assert "image/png" in shown
    assert "a line" in shown
    assert "I look." not in shown  # the answer, which the second request only repeats


@pytest.mark.parametrize("name", WIRE_FORMATS)
def test_a_request_without_turns_opens(cast: Cast, name: str) -> None:
    bodies = (b'{"input":["one","two"],"model":"small"}', b"", b"--boundary\r\n\xff")
    first = recorded(wire_format=name, request=bodies[0])
    for minutes, body in enumerate(bodies, 1):
        recorded(session=first.session, minutes=minutes, wire_format=name, request=body)
    assert "Turn 4" in words(page(cast, first.session))


HOSTILE = "<script>alert(1)</script>\u202e\x00"


def test_hostile_words_are_text(cast: Cast) -> None:
    said = [
        {"role": HOSTILE, "content": HOSTILE, "name": HOSTILE},
        {"role": "tool", "tool_call_id": HOSTILE, "content": HOSTILE},
        {"role": "user", "content": [{"type": HOSTILE}, {"type": "image_url", "image_url": {"url": HOSTILE}}]},
    ]
    tools = [{"type": "function", "function": {"name": HOSTILE}}]
    stream = turn(None, 0, [{"role": "system", "content": HOSTILE}, *said], fields={"tools": tools})
    hold(stream, [HOSTILE.replace("\x00", "")], kind="tool_call")
    shown = page(cast, stream.session)
    assert "<script>alert" not in shown
    assert "\u202e" not in shown
    assert "&lt;script&gt;alert(1)" in shown


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'{"messages":7}'], ids=range(4))
def test_an_odd_request_is_shown_with_its_size(cast: Cast, body: bytes) -> None:
    stream = recorded(request=body)
    assert f"not a request of this format, {len(body)} B" in words(page(cast, stream.session))


def test_an_odd_message_is_shown_as_it_is(cast: Cast) -> None:
    stream = recorded(request=b'{"messages":[7,null,[],"x",{"role":5,"content":{"type":[]}}]}')
    shown = words(page(cast, stream.session))
    assert "user other 1 B 7 user other 4 B null user other 2 B [] user x user other 11 B" in shown


def test_what_was_not_kept_says_so(cast: Cast) -> None:
    stream = recorded(request=b"")
    hold(stream, [""])
    Block.objects.update(length=1234)
    shown = words(page(cast, stream.session))
    assert "not kept Whole request" in shown
    assert "Text not kept: 1,234 characters." in shown


def test_a_session_without_streams_says_so(cast: Cast) -> None:
    session = Session.objects.create(label="empty", started_at=NOON, last_at=NOON)
    assert "No recorded streams in this session." in page(cast, session)


def test_a_denied_call_shows_the_verdict(cast: Cast, guard: Policy) -> None:
    stream = turn(None, 0, RAN[:2])
    hold(stream, ['{"command": "rm -rf /"}'], kind="tool_call")
    Block.objects.update(held_at=NOON, name="run_shell")
    Verdict.objects.create(
        stream=stream, number=0, ordinal=0, policy_version=guard.versions.get(), mode="enforce", decision="deny",
        reason="Not that.", at=NOON, took_us=38_000,
    )  # fmt: skip
    shown = page(cast, stream.session)
    assert "block-card is-denied" in shown
    assert "never sent to the client" in words(shown)
    assert "Not that." in shown
    assert "1 deny" in html.unescape(re.sub(r"<[^>]+>", "", shown))


def test_why_a_policy_failed_is_said_once(cast: Cast, guard: Policy) -> None:
    stream = turn(None, 0, RAN[:2])
    hold(stream, ["x"])
    why = "TimeoutError: no answer within 5 s"
    Verdict.objects.create(
        stream=stream, number=0, ordinal=0, policy_version=guard.versions.get(), mode="enforce", decision="deny",
        reason=f"The policy failed: {why}", failure=why, at=NOON, took_us=1,
    )  # fmt: skip
    facts = page(cast, stream.session).partition('class="verdict-list"')[2].partition("</ol>")[0]
    assert facts.count(why) == 1


def test_a_text_that_was_halted_says_how_much_of_it_went_out(cast: Cast, guard: Policy) -> None:
    stream = turn(None, 0, RAN[:2])
    hold(stream, ["All is well. The secret is 7."])
    Block.objects.update(released_at=NOON)
    Verdict.objects.create(
        stream=stream, number=0, ordinal=0, policy_version=guard.versions.get(), mode="enforce", decision="halt",
        at=NOON, took_us=1, client_had=13,
    )  # fmt: skip
    assert "13 characters of it sent to the client" in words(page(cast, stream.session))


def test_words_beside_names_stand_apart(cast: Cast, guard: Policy) -> None:
    stream = turn(None, 0, RAN[:4])
    hold(stream, ["{}"], kind="tool_call")
    Block.objects.update(held_at=NOON, released_at=NOON + timedelta(seconds=3))
    Verdict.objects.create(
        stream=stream, number=0, ordinal=0, policy_version=guard.versions.get(), mode="enforce", decision="allow",
        at=NOON, took_us=1, by="alice",
    )  # fmt: skip
    shown = html.unescape(re.sub(r"<[^>]+>", "", page(cast, stream.session)))
    assert "assistant calls run_tests" in shown
    assert "decided by alice after 3.00 s" in shown


def test_verdicts_that_allowed_blocks_beyond_those_shown_are_counted_and_not_read(cast: Cast, guard: Policy) -> None:
    stream = turn(None, 0, RAN[:2])
    hold(stream, ["x"] * 300)
    usual: dict[str, Any] = {"stream": stream, "policy_version": guard.versions.get(), "at": NOON, "took_us": 1}
    told: dict[int, dict[str, str]] = {250: {"decision": "deny"}, 260: {"by": "alice"}, 270: {"failure": "It broke."}}
    told |= {n: {"mode": "shadow"} for n in (1, 280)}
    allowed = {"mode": "enforce", "decision": "allow"}
    Verdict.objects.bulk_create(Verdict(number=n, ordinal=n, **usual, **allowed | told.get(n, {})) for n in range(300))
    Verdict.objects.create(number=300, subject="request", **usual, **allowed)
    with loaded(Verdict) as read:
        shown = page(cast, stream.session)
    assert len(read) == 60 + 3 + 1
    assert "298 other verdicts allowed" in shown
    assert "would allow" not in shown
    assert "It broke." in shown
    assert "by <bdi>alice</bdi>" in shown


def test_it_takes_as_many_queries_for_many_turns_as_for_few(cast: Cast) -> None:
    session, numbers = ran(), []
    for _ in range(2):
        with CaptureQueriesContext(connection) as made:
            page(cast, session)
        numbers.append(len(made))
        for minutes in range(3, 40):
            answer(turn(session, minutes, RAN[:4]), RAN[4])
    assert numbers[0] == numbers[1]


def test_the_head_says_what_was_done_where_it_went_wrong_and_how_it_ended(cast: Cast, guard: Policy) -> None:
    session = ran()
    first, second, _ = Stream.objects.filter(session=session).order_by("requested_at")
    version = guard.versions.get()
    reason = "run_tests is denied: it is <slow>."
    Verdict.objects.create(stream=first, number=0, ordinal=1, policy_version=version, mode="enforce", decision="deny",
                           reason=reason, took_us=1, at=NOON)  # fmt: skip
    Stream.objects.filter(pk=second.pk).update(outcome="upstream_error", error="Overloaded")
    shown = page(cast, session)
    story = shown[shown.index('<dl class="story">') :].split("</dl>")[0]
    said = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", story)).split())
    assert said == (
        "Did run_tests Went wrong turn 1 run_tests denied by guard it is <slow>. turn 2 upstream error Overloaded "
        "Last turn 3 Mended."
    )
    assert "run_tests denied by guard it is" in html.unescape(re.sub(r"<[^>]+>", "", story))
    assert 'href="?turn=1#t1"' in story
    assert "upstream error" not in shown[: shown.index('class="story"')]  # the session ended well


def test_the_head_says_who_cancelled_a_turn(cast: Cast) -> None:
    session = ran()
    Stream.objects.filter(pk=session.streams.earliest("requested_at").pk).update(
        outcome="halted", error="cancelled by alice"
    )
    shown = page(cast, session)
    story = shown[shown.index('<dl class="story">') :].split("</dl>")[0]
    said = " ".join(re.sub(r"<[^>]+>", " ", story).split())
    assert "Went wrong turn 1 halted cancelled by alice" in said


def test_the_head_of_a_session_in_which_nothing_happened_says_so(cast: Cast) -> None:
    shown = page(cast, turn(None, 0, RAN[:2]).session)
    assert "called no tools" in shown
    assert "nothing failed, and no policy changed anything" in shown


def test_the_head_quotes_no_words_that_nobody_sees(cast: Cast) -> None:
    stream = turn(None, 0, RAN[:2])
    answer(stream, RAN[4])
    Block.objects.filter(stream=stream, kind="content").update(text="\u200b\u2060 \ufeff")
    story = page(cast, stream.session).split('<dl class="story">')[1].split("</dl>")[0]
    assert "<q>" not in story
    assert "completed" in story


def test_no_heading_is_two_levels_below_the_one_before_it(cast: Cast, settings: Any) -> None:
    settings.PUBLIC_LINKS = True
    session = ran()
    second = Stream.objects.order_by("requested_at")[1]  # it brings the result of a call
    shared = link_to(cast, "sessions", session.pk)
    for path in (f"/sessions/{session.pk}/", f"/streams/{second.pk}/", shared):
        shown = cast["administrator"].get(path).content.decode()
        levels = [int(level) for level in re.findall(r"<h(\d)", shown)]
        assert [(a, b) for a, b in pairwise(levels) if b > a + 1] == [], path
