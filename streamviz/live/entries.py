"""A rendered row of the Live page."""

import uuid

import msgspec

from streamviz.live.filter_terms import Facts


class Entry(msgspec.Struct, frozen=True):
    """A row: its place (`group`, then `order`, ascending), what filters match, and its parts as HTML.

    `order` and `ended_at` are µs since the epoch; `order` is negative where the newest is on top. `asked_by` has the
    policies that ask a person, one for each block, `asked_at` is when the last of them did, and `is_part` says that the
    stream is a call of a run.
    """

    id: uuid.UUID
    session_id: uuid.UUID
    group: str
    order: int
    ended_at: int | None
    facts: Facts
    parts: dict[str, str]
    asked_by: tuple[str, ...] = ()
    asked_at: int = 0
    is_part: bool = False
