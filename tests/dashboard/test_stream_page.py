"""The frame around a stream's pages."""

import pytest

from tests.dashboard.conftest import Cast, recorded


@pytest.mark.parametrize("outcome", ["", "completed"])
def test_it_links_to_the_events_while_the_stream_runs_and_afterwards(cast: Cast, outcome: str) -> None:
    stream = recorded(outcome=outcome)
    page = cast["bob"].get(f"/streams/{stream.pk}/").content.decode()
    link = f"/api/streams/{stream.pk}/events"
    assert f'href="{link}"' in page
