"""The tapes' page: it names what a policy did, shows nothing for an untouched stream, and links words to chunks."""

import re
import uuid

from streamviz.live.presentation.tape_rows import ROWS_A_PAGE
from streamviz.records.deletion import delete_session
from streamviz.records.models import Stream
from streamviz.records.recorder import AnyEntry, FramesSent
from tests.core.support import delta, sse
from tests.dashboard.conftest import Cast
from tests.dashboard.test_playback import RAWS, shown, stream
from tests.records.history import NOW, make_policy, story
from tests.records.support import write

__all__ = ["stream"]


def rows(page: str) -> list[str]:
    """The fates in the rows of the page."""
    return re.findall(r'<li class="tape-row is-(\w+)', page)


def test_nothing_happened_on_an_untouched_stream(cast: Cast, stream: uuid.UUID) -> None:
    page = shown(cast, f"/streams/{stream}/tapes/")
    assert rows(page) == ["passed", "passed"]
    assert "untouched" in page
    assert "The cause is a clock." in page


def test_what_chunks_tell_about_the_answer_is_listed(cast: Cast, stream: uuid.UUID) -> None:
    assert "finish_reason stop, data: [DONE]" in shown(cast, f"/streams/{stream}/tapes/")


def test_what_a_policy_took_out_is_named_with_its_policy(cast: Cast, transactional_db: None) -> None:
    stream_id, entries = story(NOW, session="denied", number=1, denied=make_policy("guard"))
    write(instead(entries, b"data: {}\n\n"))
    page = shown(cast, f"/streams/{stream_id}/tapes/")
    assert rows(page) == ["passed", "dropped", "dropped", "replaced"]  # the call, the finish, the end mark
    dropped = page[page.index("is-dropped") : page.index("is-replaced")]
    assert "read_file" in dropped
    assert "guard" in dropped
    assert '?row=1#r1"' in page
    assert rows(shown(cast, f"/streams/{stream_id}/tapes/?hide=passed&flip=dropped")) == ["replaced"]


def test_a_denied_call_has_what_the_client_got_in_its_place(cast: Cast, transactional_db: None) -> None:
    stream_id, entries = story(NOW, session="denied", number=4, denied=make_policy("guard"))
    write(instead(entries, sse(delta(content="Denied, for a <reason>."))))
    page = shown(cast, f"/streams/{stream_id}/")
    card = page[page.index("is-denied") :]
    assert "what the client got instead" in card
    assert "Denied, for a &lt;reason&gt;." in card


def instead(entries: list[AnyEntry], made: bytes) -> list[AnyEntry]:
    """The same entries, with a frame made by the policy after those that passed."""
    changed = [
        FramesSent(each.stream_id, 0, each.sent_at, [*each.seqs, None], [("guard", made)])
        if isinstance(each, FramesSent)
        else each
        for each in entries
    ]
    return list(changed)


def test_what_the_format_does_not_allow_is_noted_at_its_chunk(cast: Cast, transactional_db: None) -> None:
    odd = [sse(delta(role="assistant", content="Hi")), sse(delta(content=["there"])), *RAWS[-2:]]
    stream_id, entries = story(NOW, odd, session="odd", number=3)
    write(entries)
    page = shown(cast, f"/streams/{stream_id}/tapes/")
    assert "1 lint note" in page
    assert "content_not_text" in page[page.index('class="tape-rows"') :]
    assert "content_not_text" in shown(cast, "/stats/?range=all")


def test_the_beginning_of_a_run_is_shown_without_a_wrong_length(cast: Cast, transactional_db: None) -> None:
    raws = [sse(delta(content=f"{number:04} {'word ' * 5}")) for number in range(40)]
    stream_id, entries = story(NOW, [*raws, *RAWS[-2:]], session="long", number=5)
    write(entries)
    page = shown(cast, f"/streams/{stream_id}/tapes/")
    assert re.search(r"0000 word [^<]{100,200}…</span>", page)
    assert "characters in total" not in page


def test_words_lead_to_their_chunks(cast: Cast, stream: uuid.UUID) -> None:
    answer = cast["bob"].get(f"/streams/{stream}/tapes/?block=0&start=5&end=9")
    assert (answer.status_code, answer["location"]) == (302, f"/streams/{stream}/tapes/?row=0#r0")
    assert cast["bob"].get(f"/streams/{stream}/tapes/?chunk=6")["location"].endswith("?row=1#r1")


def test_a_row_has_its_bytes(cast: Cast, stream: uuid.UUID) -> None:
    page = shown(cast, f"/streams/{stream}/tapes/0/")
    assert page.count("<pre>") == len(RAWS) - 2
    assert cast["bob"].get(f"/streams/{stream}/tapes/99/").status_code == 404


def test_a_page_of_many_rows_stays_small(cast: Cast, transactional_db: None) -> None:
    raws = [sse(delta(content=f"{n} " + "x" * 2_000)) for n in range(2_000)]
    stream_id, entries = story(NOW, raws, session="many", number=2)
    odd = [
        FramesSent(each.stream_id, 0, each.sent_at, each.seqs[::2], []) if isinstance(each, FramesSent) else each
        for each in entries
    ]
    write(odd)
    answer = cast["bob"].get(f"/streams/{stream_id}/tapes/")
    assert len(answer.content) < 2_000_000
    assert len(rows(answer.content.decode())) == ROWS_A_PAGE


def test_a_stream_that_is_deleted_is_not_remembered(cast: Cast, stream: uuid.UUID) -> None:
    shown(cast, f"/streams/{stream}/tapes/")
    delete_session(Stream.objects.get(pk=stream).session_id)
    assert cast["bob"].get(f"/streams/{stream}/tapes/").status_code == 404
    assert cast["bob"].get(f"/streams/{stream}/?at=1", headers={"hx-request": "true"}).status_code == 404
