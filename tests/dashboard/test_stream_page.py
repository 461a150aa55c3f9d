"""The frame around a stream's pages."""

import pytest

from streamviz.dashboard.exports import markdown
from tests.dashboard.conftest import Cast, hold, recorded


@pytest.mark.parametrize("outcome", ["", "completed"])
def test_it_links_to_the_events_while_the_stream_runs_and_afterwards(cast: Cast, outcome: str) -> None:
    stream = recorded(outcome=outcome)
    page = cast["bob"].get(f"/streams/{stream.pk}/").content.decode()
    link = f"/api/streams/{stream.pk}/events"
    assert f'href="{link}"' in page


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


def test_exported_as_markdown_media_are_described(db: None) -> None:
    stream = recorded()
    hold(stream, [PAYLOAD], kind="media")
    text = b"".join(markdown.write([stream], "http://localhost")).decode()
    assert "- image/\\<b>png, 3 B" in text
    assert "QUJD" not in text
