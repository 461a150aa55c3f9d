"""What a worker remembers of its streams' conversations, so that a request finds at once what it goes on from."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.instead import Instead
from streamviz.core.json_value import JsonObject, as_text
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.made_messages import made_in
from streamviz.proxy.marks import Marks
from streamviz.proxy.session_names import ADDED
from streamviz.proxy.transcripts import answers_of
from streamviz.records.links import FAILED, MOST_LEFT, Asker, Candidate, Chosen, Kind, Relation, choose, few, kind_of

# Streams; each takes some KB.
_REMEMBERED = 5_000
_MOST_IN_SESSION = 16
_MOST_RETRIES = 16
_MOST_TURNS = 1_000
# Streams that are alike to the letter.
_MOST_ALIKE = 64

NONE = UUID(int=0)
_NOTHING: Mapping[int, Instead] = {}
Answer = Aggregator[Chunk, JsonObject]
Key = TypeVar("Key")


@dataclass(slots=True, eq=False)
class Known:
    """A stream that is remembered. `session` is empty until it was found, `port` that of its client's connection.

    `turns` is how many go on from it, `calls` how many tools it called, and `helpers` how many other agents began for
    these. `answer` is what upstream has said so far, until what the stream leaves is noted;
    it `is_over` once the client has all of that. `has_left` tells whether what its request leaves is in `left` by now.
    `first_put` and `last_put` say when it was put into lists with others, counted in streams and what they left.
    """

    id: UUID
    owner: str
    requested_at: int
    client: str
    port: int
    agent: str
    tools: frozenset[str]
    marks: Marks
    answer: Answer | None
    session: UUID = NONE
    parent: UUID | None = None
    relation: str = ""
    turns: int = 0
    calls: int = 0
    helpers: int = 0
    is_retried: bool = False
    has_failed: bool = False
    is_over: bool = False
    has_left: bool = False
    left: list[int] = field(default_factory=list)
    first_put: int = 0
    last_put: int = 0

    @property
    def is_waiting(self) -> bool:
        """Whether nobody has answered its calls yet."""
        return self.calls > 0 and not self.turns

    def as_candidate(self) -> Candidate:
        """What is chosen by. Of one that runs, a client that sends its request again has given it up."""
        has_failed = self.has_failed or (self.answer is not None and not self.is_over)
        told = (self.id, self.session, self.requested_at, self.client, self.agent)
        return Candidate(*told, self.turns, self.is_retried, has_failed, self.port)


class Conversations:
    """The newest streams of this worker, and what each may be known by."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._puts = 0
        self._known: OrderedDict[UUID, Known] = OrderedDict()
        self._running: dict[UUID, Known] = {}
        self._by_mark: dict[int, list[Known]] = {}
        # Of which what they leave is not noted yet.
        self._over: dict[UUID, LiveStream] = {}
        # Of those that failed, by what they asked: most requests look for one, and find none.
        self._failed: dict[int, list[Known]] = {}
        self._in_session: OrderedDict[UUID, list[UUID]] = OrderedDict()
        self._on_connection: dict[tuple[str, int], list[Known]] = {}

    def find(self, one: Known, asked: Iterable[int], session: UUID | None) -> Chosen:
        """What a request goes on from; `session` is the one that its client names."""
        port = 0 if self._is_shared(one) else one.port
        asker = Asker(one.id, session, one.client, one.agent, port, partial(self._is_other_agent, one))
        if (failed := self._failed_before(one, session)) is not None:
            return Chosen(failed, Relation.RETRY, [])
        chosen = choose(asker, asked, partial(self._candidates, one.owner))
        if chosen.parent is None or (again := self._failed_beside(one, chosen.parent.stream)) is None:
            return chosen
        return Chosen(again, Relation.RETRY, [])

    def find_caller(self, one: Known, session: UUID, *, is_helper: bool) -> Candidate | None:
        """For a request that begins anew in a session that its client names: the stream whose call it carries out, or
        beside which it runs. A `helper` says itself that it is another agent's."""
        for id in reversed(self._in_session.get(session, ())):
            other = self._known.get(id)
            if other is None:
                continue
            is_callers = other.is_waiting and one.tools != other.tools
            if is_callers or is_helper or _are_others(one.tools, other.tools):
                together = None if is_callers else self._caller_of(other)
                return (together or other).as_candidate()
        return None

    def _caller_of(self, one: Known) -> Known | None:
        """The stream that called this agent, where it waits for others that it called together with it."""
        at: Known | None = one
        for _ in range(_MOST_TURNS):
            if at is None or at.parent is None:
                return None
            before = self._known.get(at.parent)
            if at.relation == Relation.SUBAGENT:
                has_others = before is not None and before.is_waiting and before.calls > before.helpers
                return before if has_others else None
            at = before
        return None

    def settle(self, owner: str) -> bool:
        """Note what streams leave that are over. Whether there is anything new."""
        over = [stream for id, stream in self._over.items() if self._known[id].owner == owner]
        for stream in over:
            self.ended(stream)
        return bool(over)

    def catch_up(self, owner: str) -> bool:
        """Some clients go on as soon as they have an answer's last word, before its stream is over. Whether there is
        anything new."""
        said = [
            (one, answer)
            for one in self._running.values()
            if one.owner == owner and (answer := one.answer) is not None and answer.state.finish_reasons
        ]
        for one, answer in said:
            self._leave_request(one)
            self._leave(one, _marks_of(one, answer.state, answer.head))
        return bool(said)

    def remember(self, one: Known) -> None:
        """A stream begins; it has its session and its parent."""
        one.marks.drop_texts()
        self._puts += 1
        one.first_put = one.last_put = self._puts
        self._known[one.id] = self._running[one.id] = one
        self._in_session.setdefault(one.session, []).append(one.id)
        self._in_session.move_to_end(one.session)
        del self._in_session[one.session][:-_MOST_IN_SESSION]
        here = self._on_connection.setdefault((one.client, one.port), [])
        here.append(one)
        del here[:-_MOST_IN_SESSION]
        self._count(one, 1)
        if len(self._known) > self._most:
            self._drop(next(iter(self._known)))
        if len(self._in_session) > self._most:
            self._in_session.popitem(last=False)

    def over(self, stream: LiveStream) -> None:
        """A client has all of an answer. What the stream leaves is noted when `ended` says so, or somebody looks for
        it."""
        if (one := self._known.get(stream.id)) is not None:
            one.is_over = True
            self._over[stream.id] = stream

    def ended(self, stream: LiveStream) -> list[int]:
        """What a stream leaves whose client has all that it gets."""
        one = self._known.get(stream.id)
        if one is None or one.answer is None:
            return [] if one is None else one.left
        self._over.pop(one.id, None)
        self._leave_request(one)
        head, one.answer = one.answer.head, None
        del self._running[one.id]
        one.calls = stream.state.tool_calls
        one.has_failed = stream.outcome in FAILED
        if one.has_failed:
            self._count(one, -1)
            _put(one, one.marks.requests, self._failed)
        self._leave(one, _marks_of(one, stream.state, head, stream.context.instead))
        return one.left

    def forget(self, id: UUID) -> None:
        """A stream never began."""
        if (one := self._known.get(id)) is not None:
            self._count(one, -1)
            self._drop(id)

    def move(self, id: UUID, old: UUID, new: UUID) -> set[UUID]:
        """A stream was found to belong to another session, with all that goes on from it: these."""
        moved = {id}
        for each in self._in_session.get(old, ()):
            if (one := self._known.get(each)) is not None and (each in moved or one.parent in moved):
                moved.add(each)
                one.session = new
                self._in_session.setdefault(new, []).append(each)
        return moved

    def _drop(self, id: UUID) -> None:
        one = self._known.pop(id)
        self._running.pop(id, None)
        self._over.pop(id, None)
        for mark in one.left:
            _take_out(one, mark, self._by_mark)
        if one.has_failed:
            for mark in one.marks.requests:
                _take_out(one, mark, self._failed)
        _take_out(one, (one.client, one.port), self._on_connection)

    def _leave_request(self, one: Known) -> None:
        """Note what its request may be known by. No client waits for that: it is done as the stream ends, or before
        somebody looks for a request that runs."""
        if not one.has_left:
            one.has_left = True
            self._leave(one, one.marks.requests)
            one.marks.release()

    def _leave(self, one: Known, marks: Iterable[int]) -> None:
        self._puts += 1
        one.last_put = self._puts
        left = few([*one.left, *marks], MOST_LEFT)
        _put(one, left[len(one.left) :], self._by_mark)
        one.left = left

    def _candidates(self, owner: str, mark: int) -> Iterable[Candidate]:
        if kind_of(mark) is Kind.REQUEST:
            for one in self._running.values():
                if one.owner == owner:  # nobody else's marks are like theirs
                    self._leave_request(one)
        return [each.as_candidate() for each in self._by_mark.get(mark, ())]

    def _failed_before(self, one: Known, session: UUID | None) -> Candidate | None:
        """The same request, where it failed just now: in the session that the client names, or on its connection. Of
        another model there it has to go on from something: many models are asked the same to begin with."""
        for mark in one.marks.requests if self._failed else ():
            # Whoever goes on from an answer that was halted has taken it.
            failed = [each for each in self._failed.get(mark, ()) if not (each.is_retried or each.turns)]
            is_same = mark == one.marks.requests[0]
            if session is None:
                here = [each for each in failed if (each.port, each.client) == (one.port, one.client)]
                fitting = [each for each in here if is_same or each.parent is not None]
            else:
                fitting = [each for each in failed if each.session == session]
            if len({each.session for each in fitting}) == 1:
                return fitting[-1].as_candidate()
        return None

    def _failed_beside(self, one: Known, parent: UUID) -> Candidate | None:
        """The same request, where it went on from the same answer and failed, on whatever connection."""
        alike = self._failed.get(one.marks.requests[0], ()) if self._failed else ()
        failed = (each for each in reversed(alike) if not each.is_retried and self._origin_of(each) == parent)
        return next((each.as_candidate() for each in failed), None)

    def _origin_of(self, one: Known) -> UUID | None:
        """What a stream goes on from; one that was tried again, what the first try did."""
        at: Known | None = one
        for _ in range(_MOST_RETRIES):
            if at is None or at.relation != Relation.RETRY or at.parent is None:
                break
            at = self._known.get(at.parent)
        return None if at is None else at.parent

    def _is_shared(self, one: Known) -> bool:
        """Whether several conversations came over its connection, so that this does not tell which of them it is."""
        here = self._on_connection.get((one.client, one.port), [])
        return any(each.session != here[0].session for each in here)

    def _is_other_agent(self, one: Known, candidate: Candidate) -> bool:
        """An agent that is to end its work may be given no tools any more."""
        return bool(one.tools) and _are_others(one.tools, self._known[candidate.stream].tools)

    def _count(self, one: Known, number: int) -> None:
        """Note at its parent that a stream goes on from that, or does not after all. A retry does so from where the
        request went on from that failed."""
        for _ in range(_MOST_RETRIES):
            parent = self._known.get(one.parent) if one.parent else None
            if parent is None:
                return
            if one.relation != Relation.RETRY:
                parent.turns += number if one.relation == Relation.TURN else 0
                parent.helpers += number if one.relation == Relation.SUBAGENT else 0
                return
            parent.is_retried = number > 0
            one = parent


def _put(one: Known, marks: Iterable[int], lists: dict[int, list[Known]]) -> None:
    for mark in marks:
        alike = lists.setdefault(mark, [])
        alike.append(one)
        if len(alike) > _MOST_ALIKE:
            del alike[0]


def _take_out(one: Known, key: Key, lists: dict[Key, list[Known]]) -> None:
    known = lists.get(key)
    if known is None or known[0].first_put > one.last_put:
        return  # all that are there came later: it had to make room for them
    others = [each for each in known if each is not one]
    if others:
        lists[key] = others
    else:
        del lists[key]


def _are_others(tools: frozenset[str], others: frozenset[str]) -> bool:
    """Whether an agent with these tools is another than one with those."""
    return bool(others) and not tools & others


def _marks_of(one: Known, state: StreamState, head: JsonObject, instead: Mapping[int, Instead] = _NOTHING) -> list[int]:
    conversation = one.marks.conversation if state.finish_reason in ADDED else ""
    ids = [as_text(head.get("id")), conversation, made_in(head) if instead else ""]
    return one.marks.left(answers_of(state.blocks, instead), ids)
