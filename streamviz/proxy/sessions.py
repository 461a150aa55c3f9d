"""Which session a stream belongs to, and its place in that session."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from uuid import UUID, uuid5

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.context import SessionCounts
from streamviz.core.json_value import JsonObject
from streamviz.exchange.stream import LiveStream, Place
from streamviz.proxy.asides import ASIDE
from streamviz.proxy.conversations import Conversations
from streamviz.proxy.known import Known
from streamviz.proxy.marks import Marks
from streamviz.proxy.said import Said
from streamviz.records.ids import uuid7
from streamviz.records.links import Kind, Relation, kind_of

_LABELLED = UUID("6f1c6d4e-4d5b-4b5e-9f0a-5a1f6d1f7a10")
_REMEMBERED = 10_000
_OF_TRACE = 8


class Sessions:
    """Finds the session of each request.

    If the client names the session (`session_names`), that decides. Otherwise a request belongs to the session of the
    stream that it continues, which is recognised by what the request repeats of it (`marks`), never by how the request
    begins: many begin alike. A trace keeps together what is left; any other request starts a new session.

    What this worker does not remember may be in the record: the writer looks there for what a stream `asked` in vain.
    `secret` is the installation's.
    """

    def __init__(self, secret: str) -> None:
        self._secret = hashlib.sha256(f"streamviz conversations {secret}".encode()).digest()
        self._conversations = Conversations()
        self._counts: OrderedDict[UUID, SessionCounts] = OrderedDict()
        self._labels: OrderedDict[UUID, str] = OrderedDict()

    def begin(
        self,
        stream_id: UUID,
        said: Said,
        request: JsonObject,
        owner: str,
        requested_at: int,
        answer: Aggregator[Chunk, JsonObject],
    ) -> tuple[UUID, Place]:
        """The session of a stream that begins, and its place there. `answer` will aggregate what upstream answers."""
        marks = Marks(self._secret, owner, request, said.wire_format.turns, said.user_agent)
        told = (stream_id, owner, requested_at, *said.client, said.user_agent)
        one = Known(*told, marks.tools, marks, answer, said.helper.id if said.helper else "")
        named = self.named(owner, said.session) if said.session else None
        place = self._placed(one, named, said)
        if named is not None:
            one.session = named
        elif place.parent is None:
            one.session = _of_trace(owner, said.trace) if said.trace else uuid7()
        one.parent, one.relation = place.parent, place.relation
        self._conversations.remember(one)
        return one.session, place

    def named(self, owner: str, name: str) -> UUID:
        """The session that a key's clients call by this name; a new one if there is no name."""
        return uuid5(_LABELLED, f"{owner}\n{name}") if name else uuid7()

    def mark_of(self, owner: str, id: str) -> int:
        """The mark of an answer's id, or of the id of a conversation that answers were added to, as the record has
        it."""
        return Marks(self._secret, owner, {}, "").of_id(id)

    def over(self, stream: LiveStream) -> None:
        """A client has a whole answer; `ended` follows when there is time."""
        self._conversations.over(stream)

    def ended(self, stream: LiveStream) -> None:
        """Note the stream's marks: its client has all that it gets."""
        stream.place.marks = self._conversations.ended(stream)

    def forget(self, stream: LiveStream) -> None:
        """Forget a stream that never began."""
        self._conversations.forget(stream.id)

    def counts(self, session_id: UUID, now: int) -> SessionCounts:
        """The totals of the session's streams in this worker; `now` is in µs since the epoch."""
        counts = self._counts.get(session_id)
        if counts is None:
            counts = self._counts[session_id] = SessionCounts(began_at=now)
            if len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)
        self._counts.move_to_end(session_id)
        return counts

    def label(self, session_id: UUID, first: Callable[[], str]) -> str:
        """The session's label: the `first` that one of its streams provides."""
        if known := self._labels.get(session_id):
            return known
        if label := first():
            self._labels[session_id] = label
            if len(self._labels) > _REMEMBERED:
                self._labels.popitem(last=False)
        return label

    def forget_label(self, session_id: UUID) -> None:
        """Forget the label of a deleted session, so that later streams of the same name get a new one. Its totals still
        count."""
        self._labels.pop(session_id, None)

    def move(self, stream_id: UUID, old: UUID, new: UUID) -> set[UUID]:
        """Move a stream, and all that continue it, to the session that it turned out to belong to. Return those
        moved."""
        return self._conversations.move(stream_id, old, new)

    def _placed(self, one: Known, named: UUID | None, said: Said) -> Place:
        asked = partial(one.marks.asked, is_named=named is not None, is_retry=said.is_retry)
        chosen = self._conversations.find(one, asked(), named)
        is_doubtful = chosen.relation in (Relation.FORK, Relation.SUBAGENT) or chosen.doubtful != 0
        looks_for_any = bool(chosen.asked) or named is not None
        if is_doubtful or (chosen.parent is None and looks_for_any):
            is_other = self._conversations.settle(one.owner)
            # It may continue a similar stream that is still running and whose answer is not noted yet.
            repeats = any(kind_of(mark) is not Kind.ERRAND for mark in chosen.asked)
            if is_doubtful or repeats:
                is_other |= self._conversations.catch_up(one.owner)
            if is_other:
                chosen = self._conversations.find(one, asked(), named)
        if chosen.parent is None and named is not None and one.marks.is_beginning:
            caller = self._conversations.find_caller(one, named, said.helper)
            relation = Relation.SUBAGENT if caller is not None or said.helper else ""
            chosen = chosen._replace(parent=caller, relation=relation)
        if chosen.parent is None and said.helper is ASIDE:
            chosen = chosen._replace(relation=Relation.SUBAGENT)  # the writer may find the answer before it
        if chosen.parent is not None:
            one.session = chosen.parent.session
        parent = chosen.parent.stream if chosen.parent is not None else None
        return Place(parent, chosen.relation, named is not None, chosen.kept)


def _of_trace(owner: str, trace: str) -> UUID:
    """One session for each trace. Its UUID is of another version than those made from names, so it is never the same as
    one of them."""
    digest = uuid5(_LABELLED, f"trace\n{owner}\n{trace}").int
    return UUID(int=digest & ~(0xF << 76) | (_OF_TRACE << 76))
