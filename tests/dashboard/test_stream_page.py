"""What a stream's pages have in common."""

import re

import pytest

from streamviz.dashboard.exports import markdown
from tests.dashboard.conftest import Cast, hold, recorded


@pytest.mark.parametrize("outcome", ["", "completed"])
def test_it_links_to_the_events_while_the_stream_runs_and_afterwards(cast: Cast, outcome: str) -> None:
    stream = recorded(outcome=outcome)
    page = cast["bob"].get(f"/streams/{stream.pk}/").content.decode()
    link = f"/api/streams/{stream.pk}/events"
    assert f'href="{link}"' in page


def test_an_export_is_asked_for_by_its_form_alone(cast: Cast) -> None:
    stream = recorded()
    page = cast["bob"].get(f"/streams/{stream.pk}/").content.decode()
    asked = re.findall(rf'href="/streams/{stream.pk}/export/\?([^"]*)"', page)
    assert "as=har" in asked
    assert all(re.fullmatch(r"as=\w+", each) for each in asked)


def test_titles_tell_a_streams_pages_and_its_sessions_apart(cast: Cast) -> None:
    stream = recorded()
    tabs = [f"/streams/{stream.pk}/{tab}" for tab in ("", "tapes/", "chunks/", "request/")]
    paths = [*tabs, f"/sessions/{stream.session_id}/", f"/compare/?a={stream.pk}", f"/streams/{recorded().pk}/"]
    pages = [cast["bob"].get(path).content.decode() for path in paths]
    titles = [re.findall("<title>(.*?)</title>", page)[0] for page in pages]
    assert len(set(titles)) == len(paths), titles
    assert titles[1].startswith(f"Tapes · {str(stream.pk)[:13]} · ")


PAYLOAD = '{"mimeType": "image/<b>png", "data": "QUJD"}'


def test_it_describes_media_and_shows_nothing_of_what_is_in_them(cast: Cast) -> None:
    stream = recorded()
    hold(stream, [PAYLOAD, '[{"image_url": {"url": "https://a.example/b.png"}}]'], kind="media")
    for place in (f"/streams/{stream.pk}/", f"/sessions/{stream.session_id}/"):
        page = cast["bob"].get(place).content.decode()
        assert "image/&lt;b&gt;png, 3 B" in page
        assert "type unknown, https://a.example/b.png" in page
        assert "QUJD" not in page
        assert 'src="https://a.example' not in page


def test_images_in_what_a_tool_answered_are_described_beside_it(cast: Cast) -> None:
    stream = recorded()
    answer = '{"content": [{"type": "image", "source": {"media_type": "image/png", "data": "QUJD"}}]}'
    of_many_values = answer.replace('"content"', f'"numbers": {[0] * 6_000}, "content"')
    hold(stream, [answer, '{"content": []}', of_many_values], kind="other")
    for place in (f"/streams/{stream.pk}/", f"/sessions/{stream.session_id}/"):
        page = cast["bob"].get(place).content.decode()
        assert page.count("image/png, 3 B") == 1


def test_of_previews_the_last_is_described_where_the_image_is_not_finished(cast: Cast) -> None:
    stream = recorded()
    previews = '{"partial_image_b64":"iVBORw0KGgoA"}\n'
    hold(stream, [previews * 2, previews + '{"result":"AAAA","output_format":"webp"}'], kind="media")
    page = cast["bob"].get(f"/streams/{stream.pk}/").content.decode()
    assert page.count("image/png, 9 B, not finished") == 1
    assert page.count("image/webp, 3 B") == 1


def test_exported_as_markdown_media_are_described(db: None) -> None:
    stream = recorded()
    hold(stream, [PAYLOAD], kind="media")
    text = b"".join(markdown.write([stream], "http://localhost")).decode()
    assert "- image/&lt;b>png, 3 B" in text
    assert "QUJD" not in text


def test_a_run_shows_its_calls_and_what_they_came_to(cast: Cast) -> None:
    run = recorded(executor="reasoning", outcome="completed", input_tokens=0, output_tokens=0)
    spent = {"session": run.session, "parent": run.pk, "relation": "step", "input_tokens": 100, "output_tokens": 7}
    plan = recorded(part="plan 1", outcome="completed", cost="0.25", **spent)
    recorded(part="answer", outcome="upstream_error", cost="0.5", **spent)
    page = cast["bob"].get(f"/streams/{run.pk}/").content.decode()
    assert "2 calls · 200 tokens in, 14 out · $0.75" in page
    assert f'href="/streams/{plan.pk}/"' in page
    assert "those of its calls" in page
    assert "plan 1: completed" in page
    assert "answer: upstream error" in page
    of_plan = cast["bob"].get(f"/streams/{plan.pk}/").content.decode()
    assert f'href="/streams/{run.pk}/">Run</a>' in of_plan
    assert "Calls of this run" not in of_plan
