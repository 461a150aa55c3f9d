"""The excerpts that a search shows, and that requests' contents are found like answers."""

import json
import uuid
from typing import Any

import pytest

from streamviz.records.deletion import delete_session
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.found_words import pieces_of, words_pattern
from streamviz.records.queries.pages import stream_page
from streamviz.records.queries.snippets import snippets
from tests.core.support import delta, sse
from tests.records.conftest import Query
from tests.records.history import day, store, story

TOOLS = [{"type": "function", "function": {"name": "read_file", "description": "Reads a\nmanuscript"}}]
FIRST = [{"role": "system", "content": "You are an archivist."}, {"role": "user", "content": "Find the codex."}]
ANSWER = {"role": "assistant", "content": "Here is the codex."}
SECOND = [*FIRST, ANSWER, {"role": "user", "content": "Now <b>translate</b> its colophon."}]


def request(messages: list[Any], **more: Any) -> bytes:
    return json.dumps({"model": "m", "messages": messages, **more}).encode()


@pytest.fixture
def turns(query: Query) -> list[uuid.UUID]:
    """Two turns of a session, the second of which repeats the first."""
    raws = [sse(delta(content="Here is the codex."))]
    first = story(day(2), raws, session="a", request=request(FIRST, tools=TOOLS))
    return store(first, story(day(1), raws, session="a", number=1, request=request(SECOND, tools=TOOLS)))


def found(text: str) -> list[uuid.UUID]:
    return stream_page(Filters(text=text), None, 10).ids


def shown(text: str, stream_id: uuid.UUID) -> tuple[int | None, str, str]:
    """The number of the block, whose it is, and the text, with matches in brackets."""
    snippet = snippets(text, [stream_id])[stream_id]
    text = "".join(f"[{piece.text}]" if piece.is_found else piece.text for piece in snippet.pieces)
    return snippet.ordinal, snippet.whose, text


def test_what_a_request_holds_is_found_where_it_was_new(turns: list[uuid.UUID]) -> None:
    first, second = turns
    assert found("archivist") == found("manuscript") == found("read_file") == found("find the codex") == [first]
    assert found("colophon") == [second]
    assert found("nowhere") == []


def test_words_are_shown_in_their_place(turns: list[uuid.UUID]) -> None:
    first, second = turns
    assert shown("codex", first) == (0, "content", "Here is the [codex].")
    assert shown("archiv", first) == (None, "system prompt", "You are an [archivist].")
    assert shown("MANUSCRIPT", first)[1:] == (
        "tools offered",
        "…ction function name read_file description Reads a [manuscript]",
    )
    assert shown("colophon translate", second) == (None, "user", "Now <b>[translate]</b> its [colophon].")


def test_a_session_that_is_deleted_is_not_found_any_more(turns: list[uuid.UUID], query: Query) -> None:
    [(session,)] = query("SELECT DISTINCT session_id FROM records_stream")
    assert delete_session(session) == 2
    assert query("SELECT count(*) FROM records_requestwords") == [(0,)]
    assert found("archivist") == []


def test_a_request_that_is_not_kept_has_no_words(query: Query) -> None:
    store(story(day(1), request=b""))
    assert query("SELECT count(*) FROM records_requestwords") == [(0,)]


@pytest.mark.parametrize("body", [b"no json", b"[]", b'{"messages": 7}', b'{"messages": ["\\ud800\\u0000 odd"]}'])
def test_what_is_no_request_does_no_harm(query: Query, body: bytes) -> None:
    [stream_id] = store(story(day(1), request=body))
    assert query("SELECT stream_id FROM records_requestwords") == [(stream_id,)]


@pytest.mark.parametrize(
    ("text", "said", "pieces"),
    [
        ("src/app.py", "in src/app.python", "in [src/app.python]"),
        ("look pars", "LOOK, the parser", "[LOOK], the [parser]"),
        ("ook", "look", ""),
        ("a.b", "axb", ""),
        ("naïve", "so naïve_parser", "so [naïve]_parser"),
        ("far", "x" * 60 + " far " + "y" * 200, "…" + "x" * 49 + " [far] " + "y" * 129 + "…"),
    ],
)
def test_a_term_is_found_as_the_index_finds_it(text: str, said: str, pieces: str) -> None:
    wanted = words_pattern(text)
    assert wanted is not None
    cut = pieces_of(wanted, said)
    assert "".join(f"[{piece.text}]" if piece.is_found else piece.text for piece in cut) == pieces


def test_what_has_no_words_looks_for_nothing() -> None:
    assert words_pattern(" !!! ") is None
