"""A stream's place in a trace: W3C Trace Context, with which clients, streamviz and providers identify their spans."""

import os
import re
from typing import NamedTuple

# Version, trace, span and flags; versions after 00 may have more after them.
_PARENT = re.compile(r"(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
HEADER = "traceparent"


class Parent(NamedTuple):
    """Somebody else's span, in hexadecimal, and whether it is recorded."""

    trace: str
    span: str
    is_sampled: bool


class Trace(NamedTuple):
    """One of our spans, in hexadecimal, and its parent. `is_sampled`: it is sent to a collector."""

    trace: str
    span: str
    parent: Parent | None
    is_sampled: bool

    @property
    def header(self) -> str:
        """The `traceparent` for the next service."""
        return f"00-{self.trace}-{self.span}-{int(self.is_sampled):02x}"


def parent_in(header: str) -> Parent | None:
    """The span that a `traceparent` names; None if it is not one."""
    found = _PARENT.fullmatch(header)
    return Parent(found[1], found[2], bool(int(found[3], 16) & 1)) if found else None


def new_span(parent: Parent | None) -> Trace:
    """A span below that parent, or the first of a trace. Whether it is sampled is not decided yet."""
    return Trace(parent.trace if parent else os.urandom(16).hex(), os.urandom(8).hex(), parent, is_sampled=False)
