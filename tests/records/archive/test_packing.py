import tracemalloc

import pytest

from streamviz.records.archive.packing import packed, unpacked
from streamviz.records.archive.parts import PART_BYTES, IndexRow, Runs, parts
from streamviz.records.archive.rows import ClientRow, UpstreamRow

UPSTREAM = [UpstreamRow(0, 10, [0, 5], [2, 3], b"abcde"), UpstreamRow(2, 20, [0], [7], None)]
CLIENT = [ClientRow(0, 11, [0, 6], 0, "", [], b""), ClientRow(2, 30, [0], None, "guard", [4], b"made")]


def test_what_is_packed_comes_out_again() -> None:
    assert unpacked(*packed(Runs(UPSTREAM, CLIENT))) == Runs(UPSTREAM, CLIENT)


def test_a_short_stream_is_one_part_with_both_tapes() -> None:
    [part] = parts(UPSTREAM, CLIENT)
    assert part == Runs(UPSTREAM, CLIENT)
    assert part.index_row() == IndexRow(0, 3, 0, 3, chunks=3, payload_bytes=5, is_whole=False)


def test_a_long_stream_is_cut_and_nothing_is_lost() -> None:
    long = [UpstreamRow(n * 128, n, [0] * 128, [1024] * 128, bytes(128 * 1024)) for n in range(20)]
    found = list(parts(long, CLIENT))
    assert len(found) > 2
    assert [row for part in found for row in part.upstream] == long
    assert [row for part in found for row in part.client] == CLIENT
    assert all(part.size <= PART_BYTES + long[0].size for part in found)
    indexed = [part.index_row() for part in found if part.upstream]
    assert (indexed[1].first_seq, indexed[1].end_seq) == (8 * 128, 2048)


def test_a_stream_without_runs_has_no_parts() -> None:
    assert list(parts([], [])) == []


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-3], lambda data: data[:12] + b"?" + data[13:], lambda _: b"what"]
)
def test_damage_is_noticed(damage: object) -> None:
    data, length = packed(Runs(UPSTREAM, CLIENT))
    with pytest.raises(ValueError):  # noqa: PT011
        unpacked(damage(data), length)  # type: ignore[operator]


def test_what_comes_to_more_than_the_index_says_is_not_unpacked() -> None:
    bomb = [UpstreamRow(0, 10, [0], [2**26], bytes(2**26))]
    data, length = packed(Runs(bomb, []))
    assert len(data) < 10_000
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="larger than it should be"):
            unpacked(data, 1_000)
        assert tracemalloc.get_traced_memory()[1] < length / 8
    finally:
        tracemalloc.stop()
