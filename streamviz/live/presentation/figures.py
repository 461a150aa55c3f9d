"""Figures as people can read them."""

from collections.abc import Mapping

UNKNOWN = "–"
_LEAST_MONEY = 0.0001


def count(number: int | None) -> str:
    """A number with its thousands apart."""
    return UNKNOWN if number is None else f"{number:,}"


def plural(number: int, noun: str) -> str:
    """`1 chunk`, `2 chunks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def money(dollars: float | None) -> str:
    """A cost in US dollars: small ones need more places to be more than nothing."""
    if dollars is None:
        return UNKNOWN
    if 0 < dollars < _LEAST_MONEY:
        return f"< ${_LEAST_MONEY}"
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def about(figure: str, is_estimated: object) -> str:
    """An estimated figure is marked."""
    return f"≈ {figure}" if is_estimated and figure != UNKNOWN else figure


def estimates(one_in: Mapping[str, int]) -> str:
    """A sentence that says which figures are estimated, each from one stream in how many; empty where none is."""
    told = [f"{name} from one in {number:,}" for name, number in one_in.items() if number > 1]
    return f"Estimated from some streams: {', '.join(told)}; everything else is exact." if told else ""


def byte_size(size: int) -> str:
    """`178 B`, `6.3 kB`, `1.2 MB`."""
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.1f} kB" if size < 999_950 else f"{size / 1_000_000:.1f} MB"
