"""How many parts of a pattern may be missing. RE2 takes time for each pair of them when it compiles the pattern, and
nothing else of the process runs meanwhile: for 30,000 of them, as in thirty times `a{0,1000}`, it takes seconds."""

import re

_TOKEN = re.compile(
    r"""
      \\Q.*?(?:\\E|\Z) | \\.                                            # quoted
    | \[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*+\]?                         # a class
    | (?P<open>\()(?:\?(?:P?<\w+>|[imsU-]*+:?))?
    | (?P<close>\))
    | \{(?P<least>\d{1,4})(?P<comma>,?)(?P<most>\d{0,4})\}
    | (?P<mark>[?*+])
    | .
    """,
    re.DOTALL | re.VERBOSE,
)


def optional_parts(pattern: str) -> int:
    """About how many there are, as if everything that is repeated were written out."""
    totals, last = [0], 0  # of each open group, and of what a mark or a count would repeat
    for found in _TOKEN.finditer(pattern):
        if found["open"]:
            totals.append(0)
        elif found["close"]:
            last = totals.pop() if len(totals) > 1 else 0
            totals[-1] += last
        elif found["mark"] or found["least"]:
            more = _more(found, last)
            totals[-1] += more
            last += more
        else:
            last = 0
    return sum(totals)


def _more(found: re.Match[str], last: int) -> int:
    """How many a mark or a count adds to the `last` ones that it repeats."""
    if found["mark"]:
        return int(found["mark"] != "+")
    least = int(found["least"])
    if not found["comma"]:
        return last * (max(least, 1) - 1)
    if not found["most"]:
        return last * (max(least, 1) - 1) + 1
    most = int(found["most"])
    return last * (max(most, 1) - 1) + max(0, most - least)
