"""What streams of one conversation know each other by, and which of several a request goes on from.

A stream leaves marks: keyed digests of what its client can say of it later. A request asks for some of them, the
surest first. Whoever finds streams that left what is asked for, a worker in its memory or the writer in Postgres,
chooses among them here. Marks are numbers of 64 bits, out of which nothing can be read.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from streamviz.records.models import Outcome
from streamviz.records.models.streams import Relation

FAILED = frozenset({Outcome.UPSTREAM_ERROR, Outcome.CLIENT_DISCONNECTED, Outcome.INTERRUPTED})

# What a stream keeps of either.
MOST_ASKED = 48
MOST_LEFT = 64
_KIND_BITS = 2
_SIGN = 1 << 63


class Kind(IntEnum):
    """What is known again: an answer by what it said, a request that failed, the words that a call gave to another
    agent, or an id that was in an answer."""

    ANSWER = 0
    REQUEST = 1
    ERRAND = 2
    ID = 3


class Candidate(NamedTuple):
    """A stream that left something that was asked for. `turns` is how many go on from it, `agent` its user agent,
    `port` that of its client's connection, 0 where it is not known; `has_failed` says that its client did not get an
    answer."""

    stream: UUID
    session: UUID
    requested_at: int
    client: str
    agent: str
    turns: int = 0
    is_retried: bool = False
    has_failed: bool = False
    port: int = 0


class Asker(NamedTuple):
    """The request that asks. `session` is the one that its client names, None where it names none."""

    stream: UUID
    session: UUID | None
    client: str
    agent: str
    port: int = 0
    is_other_agent: Callable[[Candidate], bool] = lambda _: False


class Chosen(NamedTuple):
    """What a request goes on from, and how; `asked` is what was looked for before that, in vain: a stream that left any
    of it would be a surer parent."""

    parent: Candidate | None
    relation: str
    asked: list[int]


def numbered(kind: Kind, digest: bytes) -> int:
    """A mark: a signed number, as Postgres has them, whose last bits say of what kind it is."""
    number = int.from_bytes(digest[:8], "big") & ~((1 << _KIND_BITS) - 1) | kind
    return number - (1 << 64) if number & _SIGN else number


def kind_of(mark: int) -> Kind:
    return Kind(mark & ((1 << _KIND_BITS) - 1))


def choose(asker: Asker, asked: Iterable[int], found: Callable[[int], Iterable[Candidate]]) -> Chosen:
    """The stream that a request goes on from, of those `found` by what it asked for.

    Where several will do, as those of runs that are alike to the letter, it is one from which nothing goes on yet, then
    one of the same connection, then of the same client, then the newest.
    """
    tried: list[int] = []
    for mark in asked:
        kind = kind_of(mark)
        fitting = [each for each in found(mark) if _fits(each, kind, asker)]
        # Some providers count their ids, from the same number for everybody.
        if fitting and (kind is not Kind.ID or len({each.session for each in fitting}) == 1):
            best = max(fitting, key=lambda each: _order(each, asker))
            return Chosen(best, _relation(best, kind, asker), tried)
        tried.append(mark)
    return Chosen(None, "", tried)


def _fits(candidate: Candidate, kind: Kind, asker: Asker) -> bool:
    if candidate.stream == asker.stream or asker.session not in (None, candidate.session):
        return False
    if kind is Kind.REQUEST:
        return candidate.has_failed and not candidate.is_retried
    # What another agent was told can be told again by somebody else, once the call was answered.
    return kind is not Kind.ERRAND or asker.session is not None or not candidate.turns


def _order(candidate: Candidate, asker: Asker) -> tuple[bool, bool, bool, int]:
    is_same_client = (candidate.client, candidate.agent) == (asker.client, asker.agent)
    is_same_connection = is_same_client and candidate.port == asker.port != 0
    return not candidate.turns, is_same_connection, is_same_client, candidate.requested_at


def _relation(candidate: Candidate, kind: Kind, asker: Asker) -> Relation:
    if kind is Kind.REQUEST:
        return Relation.RETRY
    if kind is Kind.ERRAND or asker.is_other_agent(candidate):
        return Relation.SUBAGENT
    return Relation.FORK if candidate.turns else Relation.TURN


def few(marks: Iterable[int], most: int) -> list[int]:
    """The first of them, each once."""
    return list(dict.fromkeys(marks))[:most]
