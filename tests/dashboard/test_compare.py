"""Comparing two recorded streams."""

import json
import re
import uuid
from datetime import timedelta
from html import escape
from typing import Any

from streamviz.records.ids import days_from, uuid7
from streamviz.records.models import Block, Stream
from tests.dashboard.conftest import NOON, Cast, hold, loaded, recorded


def asked(text: str, **more: Any) -> bytes:
    messages = [{"role": "user", "content": "Hello"}, {"role": "user", "content": text}]
    return json.dumps({"model": "m", "messages": messages, **more}).encode()


def two() -> tuple[Stream, Stream]:
    a = recorded("a", request=asked("Leave the <b>caches</b>", temperature=0.2), input_tokens=100, cost=0.01)
    ended_at = NOON + timedelta(seconds=4)
    b = recorded("b", session=a.session, request=asked("Leave the clock", temperature=0), cost=0.02, ended_at=ended_at)
    hold(a, ["The clock lives in billing"])
    hold(b, ["The clock lives in checkout", "more"])
    return a, b


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<(?!/?(?:del|ins)\b)[^>]*>", " ", page))


def test_figures_requests_and_answers_stand_beside_each_other(cast: Cast) -> None:
    a, b = two()
    page = cast["bob"].get(f"/compare/?a={a.pk}&b={b.pk}").content.decode()
    shown = text_of(page[page.index("compare-facts") :])
    assert "2.00 s" in shown
    assert "4.00 s" in shown
    assert "+2.00 s +100%" in shown
    assert "+$0.0100" in shown
    assert "2 differences" in shown
    assert "1 message equal" in shown
    assert "Leave the <del>&lt;b&gt;caches&lt;/b&gt;</del>" in shown
    assert "Leave the <ins>clock</ins>" in shown
    assert "temperature" in shown
    assert "in <del>billing</del>" in shown
    assert "in <ins>checkout</ins>" in shown
    assert "has no block here" in shown


def test_both_waterfalls_share_an_axis(cast: Cast) -> None:
    a, b = two()
    page = cast["bob"].get(f"/compare/?a={a.pk}&b={b.pk}").content.decode()
    drawn = page[page.index("compare-times") : page.index("compare-parts")]
    ends = re.findall(r'class="side-line" x1="([\d.]+%)"', drawn)
    assert ends == ["50.00%", "100.00%"], "2 s of 4 s"
    assert drawn.count("lane-span") == 3
    assert f'href="/streams/{b.pk}/?from=1#b1"' in drawn
    assert f'href="/streams/{a.pk}/?from=0#b0"' in drawn


def test_what_is_unknown_of_one_has_no_difference(cast: Cast) -> None:
    a, b = two()
    page = text_of(cast["bob"].get(f"/compare/?a={a.pk}&b={b.pk}").content.decode())
    assert re.search(r"B − A .* – ", page)


def test_another_stream_of_the_session_can_be_chosen(cast: Cast) -> None:
    a, b = two()
    page = cast["bob"].get(f"/compare/?a={a.pk}").content.decode()
    assert f'href="/compare/?a={a.pk}&amp;b={b.pk}"' in page


def test_to_choose_another_stream_reads_few_blocks_of_each(cast: Cast) -> None:
    a, b = two()
    for _ in range(2):
        hold(recorded(session=a.session), ["x"] * 500)
    with loaded(Block) as read:
        page = cast["bob"].get(f"/compare/?a={b.pk}").content.decode()
    assert page.count(f"?a={b.pk}&amp;b=") == 3
    assert len(read) == 2 + 1 + 2 * 60


def test_another_stream_can_be_named_by_its_short_id(cast: Cast) -> None:
    a, b = recorded(), recorded(id=days_from(uuid7(), 1))
    page = cast["bob"].get(f"/compare/?a={a.pk}&b=+{str(b.pk)[:13]}+").content.decode()
    assert f'href="/compare/?a={b.pk}&amp;b={a.pk}"' in page


def test_what_is_no_stream_is_not_found(cast: Cast) -> None:
    a, _ = two()
    for query in ("a=x", f"a={a.session_id}", f"a=x&b={a.pk}"):
        assert cast["bob"].get(f"/compare/?{query}").status_code == 404


def test_without_streams_both_are_asked_for(cast: Cast) -> None:
    a, b = two()
    answer = cast["bob"].get("/compare/")
    assert answer.status_code == 200
    assert "Compare two streams" in text_of(answer.content.decode())
    again = cast["bob"].get("/compare/", {"a": "x", "b": b.pk})
    assert again.status_code == 404
    form = re.search(r'class="compare-form".*?</form>', again.content.decode(), re.DOTALL)
    assert form is not None
    assert "This is not a stream’s id." in form[0]
    assert f'value="{b.pk}"' in form[0]
    assert "B − A" in cast["bob"].get("/compare/", {"a": a.pk, "b": b.pk}).content.decode()


def test_what_is_wrong_with_another_streams_id_is_said_beside_it(cast: Cast) -> None:
    a, b = two()
    twin = recorded(id=uuid.UUID(int=b.pk.int ^ 1))
    said = {
        "<b>x": "This is not a stream’s id.",
        str(a.session_id): "No recorded stream has this id.",
        "01a22c3a-a2dd": "No recorded stream has this id.",
        str(twin.pk)[:13]: "Several streams’ ids begin with this: enter the whole id.",
    }
    for text, why in said.items():
        page = cast["bob"].get("/compare/", {"a": a.pk, "b": text}).content.decode()
        form = page[page.index("compare-form") : page.index("</form>")]
        assert why in form
        assert f'value="{escape(text)}"' in form
        assert f'href="/compare/?a={a.pk}&amp;b={b.pk}"' in page


def test_a_format_that_nobody_here_reads_is_said(cast: Cast) -> None:
    a, b = two()
    Stream.objects.filter(pk=b.pk).update(wire_format="of tomorrow")
    answer = cast["bob"].get(f"/compare/?a={a.pk}&b={b.pk}")
    assert answer.status_code == 200
    assert "in a format that is not known here" in answer.content.decode()
