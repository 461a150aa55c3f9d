"""Where a stream stands in a trace: W3C's Trace Context, in which clients, streamviz and providers name their spans."""

import os
import re
from typing import NamedTuple

# Version, trace, span and flags; later versions than 00 may have more after them.
_PARENT = re.compile(r"(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
HEADER = "traceparent"


class Parent(NamedTuple):
    """A span of somebody else's, in hexadecimal, and whether they record it."""

    trace: str
    span: str
    is_sampled: bool


class Trace(NamedTuple):
    """A span of ours, in hexadecimal, and of whom it is a part. `is_sampled`: it is told to a collector."""

    trace: str
    span: str
    parent: Parent | None
    is_sampled: bool

    @property
    def header(self) -> str:
        """What tells the next in line."""
        return f"00-{self.trace}-{self.span}-{int(self.is_sampled):02x}"


def parent_in(header: str) -> Parent | None:
    """The span that a `traceparent` names; None where it is not one."""
    found = _PARENT.fullmatch(header)
    return Parent(found[1], found[2], bool(int(found[3], 16) & 1)) if found else None


def new_span(parent: Parent | None) -> Trace:
    """A span below that one, or the first of a trace. Nobody has said yet whether it is sampled."""
    return Trace(parent.trace if parent else os.urandom(16).hex(), os.urandom(8).hex(), parent, is_sampled=False)
