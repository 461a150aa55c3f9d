"""Figures for people to read."""

from collections.abc import Mapping

UNKNOWN = "–"
_LEAST_MONEY = 0.0001
_BYTES = ("kB", "MB", "GB", "TB")


def count(number: float | None) -> str:
    """A whole number with thousands separators."""
    return UNKNOWN if number is None else f"{int(number):,}"


def plural(number: int, noun: str) -> str:
    """`1 chunk`, `2 chunks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def money(dollars: float | None) -> str:
    """A cost in US dollars; small ones need more decimals to be more than nothing."""
    if dollars is None:
        return UNKNOWN
    if 0 < dollars < _LEAST_MONEY:
        return f"< ${_LEAST_MONEY}"
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def about(figure: str, is_estimated: object) -> str:
    """Mark a figure if it is estimated."""
    return f"≈ {figure}" if is_estimated and figure != UNKNOWN else figure


def estimates(one_in: Mapping[str, int]) -> str:
    """A sentence that says which figures are estimated, each from one stream in how many; empty if none are."""
    told = [f"{name} from one in {number:,}" for name, number in one_in.items() if number > 1]
    return f"Estimated from some streams: {', '.join(told)}; everything else is exact." if told else ""


def byte_size(size: int | None) -> str:
    """`178 B`, `6.3 kB`, `1.2 MB`, `40.0 GB`."""
    if size is None:
        return UNKNOWN
    if size < 1_000:
        return f"{size} B"
    power = next((power for power in (1, 2, 3) if size < 999_950 * 1_000 ** (power - 1)), 4)
    return f"{size / 1_000**power:.1f} {_BYTES[power - 1]}"
