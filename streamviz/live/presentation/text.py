"""Text from models and clients, and figures, as people can read them."""

import re
from collections.abc import Mapping

# Controls would be dropped or act; bidirectional overrides can make text read as another; half a surrogate pair
# cannot be sent at all. Each is shown for what it is.
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
UNKNOWN = "–"
_LEAST_MONEY = 0.0001
_PERIODS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def printable(text: str) -> str:
    """The text with characters that cannot be read named instead. It still has to be escaped for HTML."""
    return _UNREADABLE.sub(_name, text)


def _name(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 0:
        return "\ufffd"  # as in the record: Postgres' texts cannot hold it
    if code < 0x20:
        return chr(0x2400 + code)
    return f"⟨U+{code:04X}⟩"


def one_line(text: str, most: int) -> str:
    """The beginning of a text, on one line."""
    return printable(" ".join(text[: most * 2].split())[:most])


def plain_reason(reason: str, name: str) -> str:
    """A policy's reason, where it is told beside the name of what it is about and the verdict."""
    return reason.removeprefix(f"{name} is denied: ")


def last_line(text: str, most: int) -> str:
    """The end of a text, on one line."""
    return printable(" ".join(text[-most * 2 :].split())[-most:])


def age(microseconds: int | None) -> str:
    """How long something lasts or lasted: `0.4 s`, `14.2 s`, `1 m 12 s`, `2 h 5 m`."""
    if microseconds is None:
        return UNKNOWN
    seconds = max(0, microseconds) / 1_000_000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest} s"
    return f"{minutes // 60} h {minutes % 60} m"


def ago(seconds: float) -> str:
    """How long something is over, in the words of static/js/times.js: `now`, `8 s ago`, `4 min ago`, `12 d ago`."""
    for length, unit in _PERIODS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "now"


def exact(microseconds: int | None) -> str:
    """A time that matters to the hundredth: `< 1 ms`, `38 ms`, `0.62 s`, `14.2 s`."""
    if microseconds is None:
        return UNKNOWN
    if microseconds < 1_000:
        return "< 1 ms"
    if microseconds < 200_000:
        return f"{microseconds / 1_000:.0f} ms"
    return f"{microseconds / 1_000_000:.2f} s" if microseconds < 9_995_000 else age(microseconds)


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
