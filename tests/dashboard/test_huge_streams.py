"""Pages of huge streams are small: they say what is left out and where to get it."""

import json
import re

import pytest

from streamviz.dashboard import chunk_queries
from streamviz.dashboard.views.streams import readable
from streamviz.records.models import Block, Policy, Stream, UpstreamRun, Verdict
from tests.dashboard.conftest import NOON, Cast, hold, loaded, recorded

pytestmark = pytest.mark.slow

MOST = 2_000_000
# Length of a text (in characters) of which a comparison does not even show all of the beginning.
LONG = 21_000
MARKUP = "<&\"'"
CONTROLS = "\u202e\x01"


def page(cast: Cast, url: str) -> str:
    """What a page shows; asserts that it is not too large."""
    answer = cast["bob"].get(url)
    assert answer.status_code == 200
    assert len(answer.content) < MOST, f"{url} has {len(answer.content):,} bytes"
    return str(answer.content.decode())


def pages(cast: Cast, stream: Stream) -> dict[str, str]:
    """All pages that show a stream."""
    parts = {name: f"/streams/{stream.pk}/{name}" for name in ("", "peek/", "chunks/", "request/")}
    others = {"session": f"/sessions/{stream.session_id}/", "sessions": "/sessions/?range=all", "live": "/"}
    return {name: page(cast, url) for name, url in {**parts, **others}.items()}


@pytest.mark.parametrize(
    ("kind", "unit"), [("content", "x"), ("thinking", MARKUP), ("tool_call", MARKUP), ("content", CONTROLS)]
)
def test_a_block_of_five_megabytes_makes_small_pages(cast: Cast, kind: str, unit: str) -> None:
    stream, text = recorded(), unit * (5_000_000 // len(unit.encode()))
    hold(stream, ["before", text, "after"], kind=kind)
    shown = pages(cast, stream)
    whole = f"/streams/{stream.pk}/blocks/1/"
    assert f'href="{whole}"' in shown[""]
    assert f"{len(text):,}" in shown[""]
    assert "before" in shown[""]
    assert cast["bob"].get(whole).content == text.encode()


def test_three_thousand_blocks_are_on_several_pages(cast: Cast) -> None:
    stream = recorded()
    hold(stream, [f"block-{n:04} " + "x" * 3_000 for n in range(3_000)], kind="tool_call")
    pages(cast, stream)
    seen: list[str] = []
    url: str | None = f"/streams/{stream.pk}/?from=0"
    while url:
        shown = page(cast, url)
        seen += re.findall(r'id="b\d+-text" hidden>(block-\d+)', shown)
        following = re.search(r'rel="next" href="([^"]+)"', shown)
        url = following[1] if following else None
    assert seen == [f"block-{n:04}" for n in range(3_000)]
    newest = page(cast, f"/streams/{stream.pk}/")
    assert "2801 to 3000" in newest
    assert "2,960 earlier" in newest
    assert 'id="b2999"' in newest
    assert 'id="b700"' in page(cast, f"/streams/{stream.pk}/?from=700")


def test_a_request_of_ten_megabytes_makes_small_pages(cast: Cast) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": MARKUP * 2_500_000}]}).encode()
    stream = recorded(request=body)
    shown = pages(cast, stream)["request/"]
    assert f"{len(body):,} characters" in shown
    assert cast["bob"].get(f"/streams/{stream.pk}/request/file/").content == body


def test_a_request_of_many_values_in_many_lists_makes_small_pages(cast: Cast) -> None:
    body = b'{"metadata":' + b"[" * 190 + b",".join([b"0"] * 190_000) + b"]" * 190 + b"}"
    assert len(readable(body)) < 20 * len(body)
    assert readable(b'{"a":[{"b":"c"}]}') == '{\n  "a": [\n    {\n      "b": "c"\n    }\n  ]\n}'
    pages(cast, recorded(request=body))


def test_a_call_of_a_hundred_thousand_arguments_makes_small_pages(cast: Cast) -> None:
    stream, text = recorded(), json.dumps({f"argument-{n}": MARKUP for n in range(100_000)})
    hold(stream, [text], kind="tool_call")
    shown = pages(cast, stream)[""]
    assert "argument-0" in shown
    assert "more in the raw text" in shown
    assert cast["bob"].get(f"/streams/{stream.pk}/blocks/0/").content == text.encode()


def test_many_calls_of_many_arguments_make_small_pages(cast: Cast) -> None:
    stream = recorded()
    hold(stream, [json.dumps({f"{MARKUP}-{n}": MARKUP * 1_000 for n in range(50)})] * 200, kind="tool_call")
    pages(cast, stream)


def test_chunks_of_megabytes_are_had_on_their_own(cast: Cast) -> None:
    stream, raws = recorded(chunk_count=5), [MARKUP.encode() * 500_000, *[b"data: short\n\n"] * 4]
    hold(stream, [], raws)
    shown = pages(cast, stream)["chunks/"]
    assert shown.count("data: short↵↵") == 4
    assert f'href="/streams/{stream.pk}/chunks/0/"' in shown
    assert f"{len(raws[0]):,} characters" in shown
    assert cast["bob"].get(f"/streams/{stream.pk}/chunks/0/").content == raws[0]


def test_a_chunk_has_its_size_even_if_its_bytes_are_not_kept(cast: Cast) -> None:
    stream = recorded(chunk_count=2)
    hold(stream, [], [b"x" * 1_234, b""])
    assert re.findall(r'<td class="number">([\d,]+)</td>\s*<td class="names">', pages(cast, stream)["chunks/"]) == [
        "1,234", "0",
    ]  # fmt: skip
    UpstreamRun.objects.update(payload=None)
    shown = pages(cast, stream)["chunks/"]
    assert '<td class="number">1,234</td>' in shown
    assert shown.count("not kept") == 2


def test_a_chunk_of_many_blocks_makes_small_pages(cast: Cast) -> None:
    stream = recorded(chunk_count=200)
    hold(stream, ["x"] * 300, [b"data: {}\n\n"] * 200)
    assert "and 295 more" in pages(cast, stream)["chunks/"]


def test_chunks_come_with_no_more_blocks_than_theirs(cast: Cast) -> None:
    stream = recorded(chunk_count=400)
    hold(stream, [], [b"data: {}\n\n"] * 400)
    Block.objects.bulk_create(
        Block(stream=stream, ordinal=n, kind="content", length=0, first_seq=n, last_seq=n + 1, started_at=NOON)
        for n in range(399)
    )
    with loaded(Block) as read:
        rows = chunk_queries.chunk_page(stream, 100, 20)
    assert [[block.ordinal for block in row.blocks] for row in rows] == [[n - 1, n] for n in range(100, 120)]
    assert len(read) == 21


def test_a_chunks_bytes_are_had_without_its_blocks(cast: Cast) -> None:
    stream = recorded(chunk_count=1)
    hold(stream, ["x"], [b"data: {}\n\n"])
    with loaded(Block) as read:
        assert cast["bob"].get(f"/streams/{stream.pk}/chunks/0/").content == b"data: {}\n\n"
        assert cast["bob"].get(f"/streams/{stream.pk}/chunks/1/").status_code == 404
    assert not read


def test_thousands_of_long_verdicts_are_cut_short(cast: Cast, guard: Policy) -> None:
    stream = recorded()
    hold(stream, ["x"])
    version = guard.versions.get()
    Verdict.objects.bulk_create(
        Verdict(stream=stream, number=n, ordinal=0, policy_version=version, mode="enforce", decision="deny",
                reason=MARKUP * 1_000, failure=MARKUP * 1_000, at=NOON, took_us=1,
                evidence={f"{name}": MARKUP * 30 for name in range(100)})
        for n in range(150)
    )  # fmt: skip
    shown = pages(cast, stream)[""]
    assert "earlier verdicts not shown" in shown
    assert "4,000 characters in total" in shown
    page(cast, f"/policies/{guard.name}/")


@pytest.mark.parametrize("words", ["{0} ! ", "{0}<&", "{0} same "])
def test_two_huge_streams_beside_each_other_make_a_small_page(cast: Cast, words: str) -> None:
    streams = []
    for side in "ab":
        text = (words.format(side) * LONG)[:LONG]
        messages = [{"role": "user", "content": f"{n} {text}"} for n in range(40)]
        streams.append(recorded(request=json.dumps({"model": side, "messages": messages}).encode()))
        hold(streams[-1], [text] * 200)
    a, b = streams
    assert "characters not shown" in page(cast, f"/compare/?a={a.pk}&b={b.pk}")


def test_many_short_blocks_beside_each_other_are_whole(cast: Cast) -> None:
    a, b = recorded(), recorded()
    hold(a, ["a " * 100] * 200)
    hold(b, ["b " * 100] * 200)
    assert "characters not shown" not in page(cast, f"/compare/?a={a.pk}&b={b.pk}")


def test_a_session_of_streams_with_thousands_of_blocks_makes_small_pages(cast: Cast) -> None:
    first = recorded()
    for stream in [first, *(recorded(session=first.session, minutes=n) for n in range(1, 12))]:
        hold(stream, ["x" * 100] * 400, kind="tool_call")
    pages(cast, first)


def test_long_errors_and_names_are_cut_short(cast: Cast) -> None:
    long = MARKUP * 500_000
    stream = recorded(long, error=long, finish_reason=long, requested_model=long[:100_000], user_agent=long)
    shown = pages(cast, stream)
    assert "2,000,000 characters in total" in shown[""]
