"""Samples of streams: one in how many is looked at, which ones these are, and what the indexes of samples have."""

from collections.abc import Iterable

# What takes long to find out about a stream is estimated from about so many at most, where there are more.
SAMPLE = 8_000
_VALUES, _SAMPLED = 256, 16
# Looking at what a stream is made of takes as long as so many others do.
COSTLY = 4
# One in so many is all that the smaller index of samples has.
WHOLE_INDEX = _VALUES
_BESIDE_INDEX = {"finish_reasons", "errors"}
# The larger index of samples is read in a tenth of a second where there are so many.
_SOON_READ = 2_000_000


def one_in(streams: int) -> int:
    """One stream in how many is looked at, of so many."""
    if streams <= SAMPLE:
        return 1
    found = _VALUES // _SAMPLED
    while found < _VALUES**2 and streams > SAMPLE * found:
        found *= 2
    return found


def one_in_costly(streams: int) -> int:
    """The same where what each is made of is looked at: of not very many that can still be done of all."""
    return one_in(COSTLY * streams) if streams > SAMPLE else 1


def one_in_index(streams: int) -> int:
    """The same where more help: as many as an index of samples has, and that is read soon."""
    return _VALUES // _SAMPLED if streams <= _SOON_READ else max(_VALUES, one_in(streams // _VALUES))


def sampled(one_in: int) -> str:
    """The condition for one stream in so many, always the same ones: the last two bytes of an id are random.

    Indexes stream_sampled, and stream_sampled_less from one in 256 on.
    """
    if one_in == 1:
        return "true"
    last, before = (f"get_byte(uuid_send(s.id), {place})" for place in (15, 14))
    if one_in < _VALUES:
        return f"{last} < {_SAMPLED} AND {last} < {_VALUES // one_in}"
    return f"{last} < 1" if one_in == _VALUES else f"{last} < 1 AND {before} < {_VALUES**2 // one_in}"


def is_in_index(names: Iterable[str]) -> bool:
    """Whether the indexes of samples have all that filters of these names ask for."""
    return _BESIDE_INDEX.isdisjoint(name.removeprefix("not_") for name in names)
