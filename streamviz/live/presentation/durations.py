"""Times for people to read."""

from streamviz.live.presentation.figures import UNKNOWN

_PERIODS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def age(microseconds: float | None) -> str:
    """How long something has lasted so far: `0.4 s`, `14.2 s`, `1 m 12 s`, `2 h 5 m`."""
    if microseconds is None:
        return UNKNOWN
    seconds = max(0, microseconds) / 1_000_000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest} s"
    return f"{minutes // 60} h {minutes % 60} m"


def lasted(microseconds: float | None) -> str:
    """How long something lasted that is over: as `age`, but `17 ms` where that would be `0.0 s`."""
    return age(microseconds) if microseconds is None or microseconds >= 50_000 else exact(microseconds)


def ago(seconds: float) -> str:
    """How long ago something was, in the words of static/js/times.js: `now`, `8 s ago`, `4 min ago`, `12 d ago`."""
    for length, unit in _PERIODS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "now"


def exact(microseconds: float | None) -> str:
    """A time of which hundredths matter: `< 1 ms`, `38 ms`, `0.62 s`, `14.2 s`."""
    if microseconds is None:
        return UNKNOWN
    if microseconds < 1_000:
        return "< 1 ms"
    if microseconds < 200_000:
        return f"{microseconds / 1_000:.0f} ms"
    return f"{microseconds / 1_000_000:.2f} s" if microseconds < 9_995_000 else age(microseconds)
