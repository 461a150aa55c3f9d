"""What a worker remembers of its streams' conversations, so that a request finds at once which stream it continues."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TypeVar
from uuid import UUID

from streamviz.core.blocks import StreamState
from streamviz.core.instead import Instead
from streamviz.core.json_value import JsonObject, as_text
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.known import Known
from streamviz.proxy.made_messages import made_in
from streamviz.proxy.session_names import ADDED, Helper
from streamviz.proxy.transcripts import answers_of
from streamviz.records.links import FAILED, MOST_LEFT, Asker, Candidate, Chosen, Kind, Relation, choose, few, kind_of

# In streams; each takes some KB.
_REMEMBERED = 5_000
_MOST_IN_SESSION = 16
_MOST_RETRIES = 16
_MOST_TURNS = 1_000
# The most streams kept per mark; those that share one are alike to the letter.
_MOST_ALIKE = 64

_NOTHING: Mapping[int, Instead] = {}
Key = TypeVar("Key")


class Conversations:
    """The newest streams of this worker, with the marks by which requests recognise them."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._puts = 0
        self._known: OrderedDict[UUID, Known] = OrderedDict()
        self._running: dict[UUID, Known] = {}
        self._by_mark: dict[int, list[Known]] = {}
        # Streams that are over but whose marks are not noted yet.
        self._over: dict[UUID, LiveStream] = {}
        # Streams that failed, by the marks of their requests: most requests look for one and find none.
        self._failed: dict[int, list[Known]] = {}
        self._in_session: OrderedDict[UUID, list[UUID]] = OrderedDict()
        self._on_connection: dict[tuple[str, int], list[Known]] = {}

    def find(self, one: Known, asked: Iterable[int], session: UUID | None) -> Chosen:
        """Find the stream that a request continues; `session` is the one that its client names."""
        port = 0 if self._is_shared(one) else one.port
        told = partial(self._is_other_agent, one), lambda caller: self._known[caller.stream].may_have_called(one)
        asker = Asker(one.id, session, one.client, one.agent, port, *told)
        if (failed := self._failed_before(one, session)) is not None:
            return Chosen(failed, Relation.RETRY, [])
        chosen = choose(asker, asked, partial(self._candidates, one.owner))
        if chosen.parent is None or (again := self._failed_beside(one, chosen.parent.stream)) is None:
            return chosen
        return Chosen(again, Relation.RETRY, [])

    def find_caller(self, one: Known, session: UUID, helper: Helper | None) -> Candidate | None:
        """Find the caller of a request that begins anew in a session that its client names: the stream whose call it
        carries out, or beside which it runs. `helper` is the sub-agent that the request says it comes from."""
        known = [self._known[id] for id in reversed(self._in_session.get(session, ())) if id in self._known]
        if helper is not None and (of_caller := [each for each in known if each.helper == helper.caller]):
            # It may be called in the background: its caller has gone on by the time it begins.
            calling = next((each for each in of_caller if each.calls > each.helpers), of_caller[0])
            return calling.as_candidate()
        for other in known:
            is_callers = other.is_waiting and one.tools != other.tools
            if is_callers or helper is not None or _are_others(one.tools, other.tools):
                together = None if is_callers else self._caller_of(other)
                return (together or other).as_candidate()
        return None

    def _caller_of(self, one: Known) -> Known | None:
        """The stream that called this agent, if it still waits for other agents that it called at the same time."""
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
        """Note the marks of the owner's streams that are over. Return whether there were any."""
        over = [stream for id, stream in self._over.items() if self._known[id].owner == owner]
        for stream in over:
            self.ended(stream)
        return bool(over)

    def catch_up(self, owner: str) -> bool:
        """Note the marks of the owner's running streams with a finish_reason: some clients continue as soon as they
        have an answer's last word, before its stream is over. Return whether there were any."""
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
        """Remember a stream that begins; its session and parent are known."""
        one.marks.drop_texts()
        self._puts += 1
        one.first_put = one.last_put = self._puts
        self._known[one.id] = self._running[one.id] = one
        self._list(one.id, one.session)
        here = self._on_connection.setdefault((one.client, one.port), [])
        here.append(one)
        del here[:-_MOST_IN_SESSION]
        self._count(one, 1)
        if len(self._known) > self._most:
            self._drop(next(iter(self._known)))

    def over(self, stream: LiveStream) -> None:
        """Note that the client has the whole answer. The stream's marks are noted when `ended` is called or somebody
        looks for them."""
        if (one := self._known.get(stream.id)) is not None:
            one.is_over = True
            self._over[stream.id] = stream

    def ended(self, stream: LiveStream) -> list[int]:
        """Note the marks of a stream whose client has all that it gets, and return them."""
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
        """Forget a stream that never began."""
        if (one := self._known.get(id)) is not None:
            self._count(one, -1)
            self._drop(id)

    def move(self, id: UUID, old: UUID, new: UUID) -> set[UUID]:
        """Move a stream, and all that continue it, to the session that it turned out to belong to. Return those
        moved."""
        moved = {id}
        for each in list(self._in_session.get(old, ())):
            if (one := self._known.get(each)) is not None and (each in moved or one.parent in moved):
                moved.add(each)
                one.session = new
                self._list(each, new)
        return moved

    def _list(self, id: UUID, session: UUID) -> None:
        """List a stream as the newest of its session."""
        here = self._in_session.setdefault(session, [])
        here.append(id)
        del here[:-_MOST_IN_SESSION]
        self._in_session.move_to_end(session)
        if len(self._in_session) > self._most:
            self._in_session.popitem(last=False)

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
        """Note the marks of its request. No client waits for that: it is done when the stream ends, or before somebody
        looks for a running request."""
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
                if one.owner == owner:  # marks depend on the owner
                    self._leave_request(one)
        return [each.as_candidate() for each in self._by_mark.get(mark, ())]

    def _failed_before(self, one: Known, session: UUID | None) -> Candidate | None:
        """The same request if it has just failed, in the session that the client names, or on the same connection.
        There, if it was for another model, it must have continued something, because many models are asked the same
        first question."""
        for mark in one.marks.requests if self._failed else ():
            # Whoever continues a halted answer has accepted it.
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
        """The same request if it continued the same answer and failed, on any connection."""
        alike = self._failed.get(one.marks.requests[0], ()) if self._failed else ()
        failed = (each for each in reversed(alike) if not each.is_retried and self._origin_of(each) == parent)
        return next((each.as_candidate() for each in failed), None)

    def _origin_of(self, one: Known) -> UUID | None:
        """The stream that this one continues; for a retry, the one that the first attempt continued."""
        at: Known | None = one
        for _ in range(_MOST_RETRIES):
            if at is None or at.relation != Relation.RETRY or at.parent is None:
                break
            at = self._known.get(at.parent)
        return None if at is None else at.parent

    def _is_shared(self, one: Known) -> bool:
        """Whether several conversations used its connection, so that the connection does not identify one."""
        here = self._on_connection.get((one.client, one.port), [])
        return any(each.session != here[0].session for each in here)

    def _is_other_agent(self, one: Known, candidate: Candidate) -> bool:
        """Whether the candidate is another agent: its client says so, or the tools show it. An agent that is told to
        finish may be offered no tools any more, which shows nothing."""
        other = self._known[candidate.stream]
        says_so = bool(one.helper) and one.helper != other.helper
        return says_so or (bool(one.tools) and _are_others(one.tools, other.tools))

    def _count(self, one: Known, number: int) -> None:
        """Note at the parent that a stream continues it, or (-1) that it does not after all. For a retry, the parent is
        the one that the failed request continued."""
        for _ in range(_MOST_RETRIES):
            parent = self._known.get(one.parent) if one.parent else None
            if parent is None:
                return
            if one.relation != Relation.RETRY:
                parent.count(one, number)
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
        return  # everything listed came later, so this one has already been pushed out
    others = [each for each in known if each is not one]
    if others:
        lists[key] = others
    else:
        del lists[key]


def _are_others(tools: frozenset[str], others: frozenset[str]) -> bool:
    """Whether the tools show that two agents are different: the second has some, and they share none."""
    return bool(others) and not tools & others


def _marks_of(one: Known, state: StreamState, head: JsonObject, instead: Mapping[int, Instead] = _NOTHING) -> list[int]:
    conversation = one.marks.conversation if state.finish_reason in ADDED else ""
    ids = [as_text(head.get("id")), conversation, made_in(head) if instead else ""]
    return one.marks.left(answers_of(state.blocks, instead), ids)
