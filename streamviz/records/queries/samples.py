"""Samples of streams: one stream in how many is read, which ones those are, and what the sample indexes have."""

from collections.abc import Iterable

# Whatever takes long to determine for each stream is estimated from roughly this many, if there are more.
SAMPLE = 8_000
_VALUES, _SAMPLED = 256, 16
# Examining a stream's parts takes as long as reading this many streams.
COSTLY = 4
# The smaller sample index has one stream in this many.
WHOLE_INDEX = _VALUES
_BESIDE_INDEX = {"finish_reasons", "errors"}
# Up to this many streams in all, the larger sample index can be read in a tenth of a second.
_SOON_READ = 2_000_000


def one_in(streams: int) -> int:
    """One stream in how many to read, given how many there are."""
    if streams <= SAMPLE:
        return 1
    found = _VALUES // _SAMPLED
    while found < _VALUES**2 and streams > SAMPLE * found:
        found *= 2
    return found


def one_in_costly(streams: int) -> int:
    """The same if the parts of each stream are examined; if there are not very many, all of them can still be."""
    return one_in(COSTLY * streams) if streams > SAMPLE else 1


def one_in_index(streams: int) -> int:
    """The same if a larger sample helps: as much as a sample index has and can be read quickly."""
    return _VALUES // _SAMPLED if streams <= _SOON_READ else max(_VALUES, one_in(streams // _VALUES))


def sampled(one_in: int) -> str:
    """The condition that selects one stream in `one_in`, always the same ones: an id's last two bytes are random.

    Indexes stream_sampled, and stream_sampled_less from one in 256 on.
    """
    if one_in == 1:
        return "true"
    last, before = (f"get_byte(uuid_send(s.id), {place})" for place in (15, 14))
    if one_in < _VALUES:
        return f"{last} < {_SAMPLED} AND {last} < {_VALUES // one_in}"
    return f"{last} < 1" if one_in == _VALUES else f"{last} < 1 AND {before} < {_VALUES**2 // one_in}"


def is_in_index(names: Iterable[str]) -> bool:
    """Whether the sample indexes have every column that filters of these names need."""
    return _BESIDE_INDEX.isdisjoint(name.removeprefix("not_") for name in names)
