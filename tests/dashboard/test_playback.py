"""A finished stream at any moment, as upstream sent it and as its client had it."""

import asyncio
import re
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from streamviz.core.tape_alignment import align
from streamviz.core.tapes import Held
from streamviz.core.timeline import Timeline
from streamviz.dashboard import playback
from streamviz.dashboard.preparing import Failed, Recorded, prepared, prepared_elsewhere
from streamviz.live.pace import Pace
from streamviz.records.block_record import BlockRecord
from streamviz.records.models import Stream
from streamviz.records.queries import streams
from streamviz.records.queries.rows import long_rows
from tests.core.support import delta, sse
from tests.dashboard.conftest import Cast
from tests.records.history import NOW, story
from tests.records.support import write

WORDS = ["The ", "cause ", "is ", "a ", "clock."]
RAWS = [*(sse(delta(content=word)) for word in WORDS), sse(delta(finish="stop")), b"data: [DONE]\n\n"]


@pytest.fixture
def stream(transactional_db: None) -> uuid.UUID:
    playback._kept.clear()
    stream_id, entries = story(NOW, RAWS, session="moments")
    write(entries)
    return stream_id


def shown(cast: Cast, url: str, **headers: Any) -> str:
    answer = cast["bob"].get(url, follow=True, headers=headers)
    assert answer.status_code == 200
    return str(answer.content.decode())


def text_of(page: str) -> str:
    found = re.search(r'id="b0-text"[^>]*>(.*?)</div>', page, re.DOTALL)
    return found[1].strip() if found else ""


def test_each_moment_of_a_replay_has_what_had_come(cast: Cast, stream: uuid.UUID) -> None:
    for seq in range(len(WORDS)):
        page = shown(cast, f"/streams/{stream}/?at={seq}")
        assert text_of(page) == "".join(WORDS[: seq + 1]).strip()
        assert f"chunk {seq}" in page
    assert text_of(shown(cast, f"/streams/{stream}/")) == "".join(WORDS)


def test_a_lane_leads_to_its_block_or_to_the_moment_when_that_begins(cast: Cast, transactional_db: None) -> None:
    playback._kept.clear()
    deltas = [delta(reasoning_content="Why?"), *(delta(content=word) for word in WORDS), delta(finish="stop")]
    stream_id, entries = story(NOW, [*(sse(each) for each in deltas), b"data: [DONE]\n\n"], session="lanes")
    write(entries)
    for query, leads in (("", ["#b0", "#b1"]), ("?at=0", ["#b0", "?at=1#b1"]), ("?at=1", ["#b0", "#b1"])):
        page = shown(cast, f"/streams/{stream_id}/{query}")
        assert re.findall(r'class="lane-name"\s+href="([^"]*)"', page) == leads
        assert re.findall(r'data-first-seq="([^"]*)"', page) == ["0", "1"]


def test_what_was_asked_stands_beside_the_answer(cast: Cast, stream: uuid.UUID) -> None:
    request = b'{"messages": [{"role": "user", "content": "Why <i>now</i>?"}]}'
    Stream.objects.update(request=request, request_headers={"openai-beta": "one"}, user_agent="agent/2")
    for url in (f"/streams/{stream}/", f"/streams/{stream}/?at=1"):
        asked = shown(cast, url).split('id="asked"')[1].split('id="block-cards"')[0]
        assert "Why &lt;i&gt;now&lt;/i&gt;?" in asked
        assert ">openai-beta<" in asked
        assert "agent/2" in asked
    # A step does not render it again.
    assert "Why &lt;i&gt;" not in shown(cast, f"/streams/{stream}/?at=1", **{"hx-request": "true"})
    tab = shown(cast, f"/streams/{stream}/request/")
    assert ">openai-beta<" in tab
    assert "agent/2" in tab


@pytest.mark.parametrize("page", ["?at=2", "tapes/?row=1"])
def test_the_first_look_at_a_long_stream_says_that_it_takes_a_moment(
    cast: Cast, stream: uuid.UUID, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setattr(playback, "_MOST_AT_ONCE", 3)
    answer = cast["bob"].get(f"/streams/{stream}/{page}")
    assert "Reading 7 chunks" in answer.content.decode()
    assert stream not in playback._kept
    again = answer["Refresh"].removeprefix("0; url=")
    path, _, asked = f"/streams/{stream}/{page}".partition("?")
    assert again == f"{path}?{asked}&wait=1"
    whole = shown(cast, again)
    assert stream in playback._kept
    assert "Reading 7 chunks" not in whole
    assert "Reading 7 chunks" not in shown(cast, f"/streams/{stream}/{page}")


def test_a_part_of_the_page_is_enough_for_the_next_moment(cast: Cast, stream: uuid.UUID) -> None:
    part = shown(cast, f"/streams/{stream}/?at=1", **{"hx-request": "true"})
    assert part.strip().startswith('<div class="stream-panes"')
    assert 'data-seq="1"' in part
    step = cast["bob"].get(f"/streams/{stream}/?at=1&step=next", headers={"hx-request": "true"})
    assert 'data-seq="2"' in step.content.decode()  # directly, as a redirect would lose the header


@pytest.mark.parametrize(
    ("at", "step", "to"),
    [(3, "previous", 2), (3, "next", 4), (0, "previous", 0), (6, "next", 7), (7, "previous", 6), (0, "later", 5),
     (6, "earlier", 5), (3, "first", 0)],
)  # fmt: skip
def test_a_step_is_a_link(cast: Cast, stream: uuid.UUID, at: int, step: str, to: int) -> None:
    answer = cast["bob"].get(f"/streams/{stream}/?at={at}&step={step}")
    assert (answer.status_code, answer["location"]) == (302, f"/streams/{stream}/?at={to}&tape=upstream")


def test_what_may_take_long_is_not_done_on_the_event_loop(
    cast: Cast, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One chunk, as an imported stream may have, can begin tens of thousands of blocks."""
    playback._kept.clear()
    noted: dict[str, list[bool]] = {}

    def note(of: Any, name: str) -> None:
        does, noted[name] = getattr(of, name), []

        def do(*arguments: Any) -> Any:
            noted[name].append(is_in_the_way())
            return does(*arguments)

        monkeypatch.setattr(of, name, do)

    for of, name in ((Timeline, "add"), (Timeline, "moment"), (Timeline, "close")):
        note(of, name)
    stream_id, entries = story(NOW, [sse(delta(content="x" * 70_000)), *RAWS[-2:]], session="moments")
    write(entries)
    assert "xxx" in shown(cast, f"/streams/{stream_id}/?at=0")
    assert noted == {"add": [False, True, True], "moment": [False, False], "close": [False]}


def is_in_the_way() -> bool:
    """Whether an event loop waits for what this thread does."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def test_what_is_no_moment_is_the_end(cast: Cast, stream: uuid.UUID) -> None:
    for query in ("at=x", "at=-1", "time=", "at=999999", "step=nowhere&tape=whose"):
        assert text_of(shown(cast, f"/streams/{stream}/?{query}")) == "".join(WORDS)


def test_a_stream_in_a_format_of_a_newer_release_is_shown_and_not_played(cast: Cast, stream: uuid.UUID) -> None:
    Stream.objects.filter(pk=stream).update(wire_format="of tomorrow")
    page = shown(cast, f"/streams/{stream}/?at=2")
    assert text_of(page) == "".join(WORDS)
    assert "chunk 2" not in page
    assert "Its tapes cannot be compared" in shown(cast, f"/streams/{stream}/tapes/")
    assert cast["bob"].get(f"/streams/{stream}/tapes/0/").status_code == 404


def test_a_moment_does_not_compare_the_tapes(cast: Cast, stream: uuid.UUID) -> None:
    shown(cast, f"/streams/{stream}/?at=1")
    assert playback._kept[stream].compared is None
    shown(cast, f"/streams/{stream}/tapes/")
    assert playback._kept[stream].compared is not None


def test_a_stream_is_read_once_however_many_ask(stream: uuid.UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[uuid.UUID] = []
    reading = playback._read

    def counted(stream_id: uuid.UUID) -> Any:
        read.append(stream_id)
        return reading(stream_id)

    monkeypatch.setattr(playback, "_read", counted)
    playback._kept.clear()

    async def ask() -> list[playback.Playback | None]:
        return await asyncio.gather(*(playback.playback_of(stream) for _ in range(3)))

    one, *others = async_to_sync(ask)()
    assert one is not None
    assert all(other is one for other in others)
    assert read == [stream]


def told(timeline: Timeline, seq: int | None) -> list[BlockRecord]:
    return [BlockRecord.of(block) for block in timeline.moment(seq).blocks]


@pytest.mark.integration
async def test_a_process_of_its_own_makes_the_same_of_a_stream() -> None:
    rows = [(0, 5, [0, 1, 2], [len(raw) for raw in RAWS[:3]], b"".join(RAWS[:3])), (3, 9, [0], [7], None)]
    sent = [(0, 6, [0, 1], 0, "", [0, 0], b""), (2, 9, [0], None, "guard", [len(RAWS[5])], RAWS[5])]
    held = [Held(0, 2, 7, 9, ("guard",))]
    recorded = Recorded("openai_chat", hides_usage=False, is_whole=True, upstream=rows, client=sent, holds=held)
    here, elsewhere = await prepared(recorded, Pace().rest), await prepared_elsewhere(recorded)
    assert elsewhere.bare == here.bare
    assert elsewhere.tapes[2:] == here.tapes[2:]
    for one, other in zip(elsewhere.tapes[:2], here.tapes[:2], strict=True):
        assert [told(one, seq) for seq in (0, 1, 2, None)] == [told(other, seq) for seq in (0, 1, 2, None)]
    assert elsewhere.compared is not None
    assert [(row.fate, row.held) for row in elsewhere.compared.rows] == [
        (row.fate, row.held) for row in align(here.tapes)
    ]


@pytest.mark.integration
async def test_a_stream_that_a_process_cannot_read_is_a_failure_of_that_stream_alone() -> None:
    with pytest.raises(Failed):
        await prepared_elsewhere(Recorded("no format", False, True, [(0, 5, [0], [1], b"x")], [], []))


@pytest.mark.parametrize("part", ["request/", "chunks/?from=3"])
def test_what_shows_no_times_reads_no_times(
    cast: Cast, stream: uuid.UUID, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        asked.append(statement)
        return long_rows(statement, values)

    monkeypatch.setattr(streams, "long_rows", noted)
    times = "SELECT first_at, offsets"
    shown(cast, f"/streams/{stream}/{part}")
    assert not any(statement.startswith(times) for statement in asked)
    shown(cast, f"/streams/{stream}/")
    assert sum(statement.startswith(times) for statement in asked) == 2
