"""How streams of one conversation recognise each other, and which of several a request continues.

A stream leaves marks: keyed digests of what its client can say of it later. A request looks for some of them, the
surest first. Whoever finds streams that left these marks, a worker in its memory or the writer in Postgres, chooses
among them here. A mark is a 64-bit number that reveals nothing of what it was made from.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from streamviz.records.models import Outcome
from streamviz.records.models.streams import Relation

# Outcomes that leave the client without a whole answer: it may send the same request again.
FAILED = frozenset({Outcome.UPSTREAM_ERROR, Outcome.CLIENT_DISCONNECTED, Outcome.INTERRUPTED, Outcome.HALTED})

# The most marks that a stream keeps of those it looks for, and of those it leaves.
MOST_ASKED = 48
MOST_LEFT = 64
_KIND_BITS = 2
_NOT_KIND = ~((1 << _KIND_BITS) - 1)


class Kind(IntEnum):
    """What a mark recognises: an answer by what it said, a request that failed, the words that a call gave to another
    agent, or an id that was in an answer."""

    ANSWER = 0
    REQUEST = 1
    ERRAND = 2
    ID = 3


# Marks of these kinds are unique, or those that are equal come from one client, one at a time.
_SURE = (Kind.ID, Kind.REQUEST)


class Candidate(NamedTuple):
    """A stream that left a mark that is looked for. `turns` is how many streams continue it, `agent` its user agent,
    `port` that of its client's connection, 0 if unknown; `has_failed` says that its client got no answer, or not all of
    one."""

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
    """The request that looks for its parent. `session` is the one that its client names, None if it names none; `port`
    is 0 if several conversations share its connection, as those behind a front end do. `is_in_background` says whether
    a candidate that went on may still be waiting for this agent."""

    stream: UUID
    session: UUID | None
    client: str
    agent: str
    port: int = 0
    is_other_agent: Callable[[Candidate], bool] = lambda _: False
    is_in_background: Callable[[Candidate], bool] = lambda _: False


class Chosen(NamedTuple):
    """The stream that a request continues, and how. `asked` has the marks that were tried before, without success: a
    stream that left any of them would be a surer parent. `doubtful` is the mark that led to the stream if a stranger's
    stream could have left the same one, 0 if something rules that out."""

    parent: Candidate | None
    relation: str
    asked: list[int]
    doubtful: int = 0

    @property
    def kept(self) -> list[int]:
        """Both, as a stream keeps them: the doubtful mark comes last, after a 0, which is no mark."""
        if not self.doubtful:
            return few(self.asked, MOST_ASKED)
        return [*few(self.asked, MOST_ASKED - 2), 0, self.doubtful]


class _Alike(NamedTuple):
    """The streams that left the same mark."""

    mark: int
    streams: list[Candidate]


def numbered(kind: Kind, digest: bytes) -> int:
    """A mark: a signed number, as Postgres has them, whose last bits give its kind."""
    return int.from_bytes(digest[:8], "big", signed=True) & _NOT_KIND | kind


def kind_of(mark: int) -> Kind:
    return Kind(mark & ((1 << _KIND_BITS) - 1))


def choose(asker: Asker, asked: Iterable[int], found: Callable[[int], Iterable[Candidate]]) -> Chosen:
    """The stream that a request continues, of those `found` by the marks that it looks for.

    Strangers say the same things and get the same answers. If the streams found are of several sessions, only an
    unshared connection or an id of an earlier turn tells which is meant; without either, none is chosen: a conversation
    in two pieces is the lesser evil.

    If several streams of one session fit, as with runs that are identical to the letter, one that nothing continues yet
    is preferred, then one of the same connection, then one of the same client, then the newest.
    """
    tried: list[int] = []
    alike: _Alike | None = None
    for mark in asked:
        kind = kind_of(mark)
        fitting = [each for each in found(mark) if _fits(each, kind, asker)]
        if alike is None or kind is Kind.ID:
            if of_one := _of_one_session(fitting, kind, asker):
                return _chosen(_Alike(mark, of_one), alike, asker, tried)
            # Some providers number their ids, from the same start for everybody.
            if fitting and kind is not Kind.ID:
                alike = _Alike(mark, fitting)
        tried.append(mark)
    return Chosen(None, "", tried)


def parted(kept: list[int]) -> tuple[list[int], int]:
    """The marks looked for without success, and the doubtful mark that led to a parent, of what a stream keeps."""
    return (kept[:-2], kept[-1]) if kept[-2:-1] == [0] else (kept, 0)


def are_strangers(asker: Asker, mark: int, left_by: Iterable[Candidate]) -> bool:
    """Whether the streams that left a mark, and that the request could continue, are of several sessions."""
    return len({each.session for each in left_by if _fits(each, kind_of(mark), asker)}) > 1


def _of_one_session(fitting: list[Candidate], kind: Kind, asker: Asker) -> list[Candidate]:
    """The streams among these that are of one session; none if nothing tells the sessions apart."""
    if kind is not Kind.ID and len({each.session for each in fitting}) > 1:
        fitting = [each for each in fitting if _is_same_connection(each, asker)]
    return fitting if len({each.session for each in fitting}) == 1 else []


def _chosen(known: _Alike, alike: _Alike | None, asker: Asker, tried: list[int]) -> Chosen:
    """The best of those `known` to be of the conversation, or of those `alike` that are too, as they are surer."""
    is_sure = asker.session is not None or kind_of(known.mark) in _SURE
    if alike is not None:
        of_it = [each for each in alike.streams if each.session == known.streams[0].session]
        known = _Alike(alike.mark, of_it) if of_it else known
    best = max(known.streams, key=lambda each: _order(each, asker))
    doubtful = 0 if is_sure or _is_same_connection(best, asker) else known.mark
    return Chosen(best, _relation(best, kind_of(known.mark), asker), tried, doubtful)


def _fits(candidate: Candidate, kind: Kind, asker: Asker) -> bool:
    if candidate.stream == asker.stream or asker.session not in (None, candidate.session):
        return False
    if kind is Kind.REQUEST:
        return candidate.has_failed and not candidate.is_retried
    if kind is not Kind.ERRAND or asker.session is not None:
        return True
    # Once the call was answered, another client may give its agent the same words.
    return not candidate.turns or asker.is_in_background(candidate)


def _order(candidate: Candidate, asker: Asker) -> tuple[bool, bool, bool, int]:
    is_same_connection = _is_same_connection(candidate, asker)
    return not candidate.turns, is_same_connection, _is_same_client(candidate, asker), candidate.requested_at


def _is_same_client(candidate: Candidate, asker: Asker) -> bool:
    return (candidate.client, candidate.agent) == (asker.client, asker.agent)


def _is_same_connection(candidate: Candidate, asker: Asker) -> bool:
    return _is_same_client(candidate, asker) and candidate.port == asker.port != 0


def _relation(candidate: Candidate, kind: Kind, asker: Asker) -> Relation:
    if kind is Kind.REQUEST:
        return Relation.RETRY
    if kind is Kind.ERRAND or asker.is_other_agent(candidate):
        return Relation.SUBAGENT
    return Relation.FORK if candidate.turns else Relation.TURN


def few(marks: Iterable[int], most: int) -> list[int]:
    """The first `most` marks, without duplicates."""
    return list(dict.fromkeys(marks))[:most]
