"""The marks of one request and its answer: those that it looks for, and those that it leaves for later requests.

An answer is recognised by what it said together with some of what came before it. How much of that a client still sends
varies: windows slide, old results are cleared, system prompts change. So there is a mark for the answer with 1, 2, 4
and 8 turns before it, one for a conversation from its beginning, and one for the answer alone. Little text proves
nothing: many answers are just OK. The surest mark also identifies the speaker: the program, its model, its tools and
its system prompt. If a program names its user, that user never shares marks with another. Another mark is for
an answer with the last calls before it, for requests that send other results for those calls.

A client may keep only the beginning of an answer: of one that was stopped, it may have shown less than had come, and
some agents read no further than a call that is written into the text. So there are also marks for beginnings of a few
lengths, each with everything that is in the surest mark.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.proxy.session_names import conversation_of
from streamviz.proxy.speakers import person_in, tools_in
from streamviz.proxy.transcripts import TELLING_ERRAND, Turn, brief, errand_of, system_prompt_of, turns_backwards
from streamviz.records.links import MOST_LEFT, Kind, few, numbered

_STEPS = (1, 2, 4, 8)
_LAST_STEP = _STEPS[-1]
# Lengths of the beginnings that have marks, in characters, and how many of a request's answers are looked for by one.
_BEGINNINGS = (2_048, 512, 128, 32)
_MOST_BEGUN = 2
# Limits per request: turns read, and answers looked for.
_MOST_TURNS = 40
_MOST_ANSWERS = 6
_MOST_IDS = 16
# How many characters prove something: of an answer with what came before it, and of an answer alone.
_TELLING = 60
_TELLING_ALONE = 200
_MOST_ERRANDS = 8
_RUN = re.compile(r"[A-Za-z0-9]{8,}")
_FEWEST_DISTINCT = 6
# How many kinds of agents are told apart by the tools that they are offered.
_TRADES = 16
# Owners whose hashes are cached.
_OWNERS = 1_000


class _Said(NamedTuple):
    """A turn, by its digest. `calls` is that of its calls, empty if it made none, `calls_weight` their characters; with
    `is_by_id` they have ids that distinguish the turn from any other. `told` has the digests of what may be an errand
    of another agent. The rest is what requests look for."""

    digest: bytes
    weight: int
    is_answer: bool = False
    calls: bytes = b""
    calls_weight: int = 0
    is_by_id: bool = False
    told: Sequence[bytes] = ()
    ids: Sequence[str] = ()
    texts: Sequence[str] = ()


class _Hashes:
    """The hashes that the digests of one owner's marks start from. `secret` is the installation's."""

    def __init__(self, secret: bytes, owner: str) -> None:
        self.plain = hashlib.blake2b(owner.encode("utf-8", "replace"), digest_size=16, key=secret)
        self.of_kind = [_with(self.plain, str(kind.value).encode()) for kind in Kind]


_hashes = lru_cache(_OWNERS)(_Hashes)


def _with(hash: "hashlib.blake2b", *parts: bytes) -> "hashlib.blake2b":
    """A copy of the hash, continued with these parts. Each is preceded by its length, so that no two lists of parts are
    alike."""
    copy = hash.copy()
    for part in parts:
        copy.update(len(part).to_bytes(4, "big") + part)
    return copy


class Marks:
    """The marks of one request, whose turns are read as needed, from the last one on. `secret` is the installation's.
    `owner` is whose marks they are: nobody else's are the same. `agent` is the program that sent the request."""

    def __init__(self, secret: bytes, owner: str, fields: JsonObject, turns: str, agent: str = "") -> None:
        self._hashes = _hashes(secret, owner)
        self._fields = fields
        self._turns = turns
        self._agent = agent
        self._person = brief(person_in(fields)).encode("utf-8", "replace")
        self._reading = turns_backwards(fields.get(turns))
        self._read: list[_Said] = []
        self._is_whole = False
        self._requests: tuple[int, int] | None = None
        self._voiced: bytes | None = None
        # The provider has what came before these turns.
        self.conversation = conversation_of(fields)
        told = fields.get("previous_response_id"), _previous_message(fields), self.conversation
        self._goes_on_from = [id for each in told if (id := as_text(each))]

    def asked(self, *, is_named: bool, is_retry: bool) -> Iterator[int]:
        """The marks that this request looks for, the surest first; in a session that the client named, even little
        text proves much."""
        if is_retry:
            yield self.requests[0]
        answered_ids = self._answered_ids()
        for ids, is_answer in answered_ids:
            yield from map(self.of_id, ids)
            if is_answer:
                break
        if self.is_beginning:
            yield from self._errands()
            return
        for number, at in enumerate(self._answers_by_text(is_named)):
            yield from self._known_by(at, is_named)
            if number < _MOST_BEGUN:
                yield from self._begun_by(at, is_named)
        # The calls of earlier answers only help if the last answer, which was text, is not known.
        for ids, _ in answered_ids:
            yield from map(self.of_id, ids)
        for at in self._answers_by_text(is_named):
            if self._read[at].weight >= (1 if is_named else _TELLING_ALONE):
                yield self._mark(Kind.ANSWER, self._read[at].digest)

    def left(self, answers: Iterable[Turn], ids: Iterable[str]) -> list[int]:
        """The marks by which later requests may recognise these answers; `ids` are those of the message as a whole."""
        is_whole = self._is_whole_by(_LAST_STEP)
        before = self._read[:_LAST_STEP]
        marks: list[int] = []
        for answer in answers:
            told = self._said(answer)
            marks += map(self.of_id, filter(looks_random, answer.ids))
            marks.append(self._mark(Kind.ANSWER, told.digest))
            marks += (mark for mark, _ in self._chain(told, before, is_whole=is_whole))
            marks += (mark for mark, _ in self._beginnings(answer.text, before, is_whole=is_whole))
            marks += chain.from_iterable(self._errands_left(map(self._words, answer.errands), before))
        return few([*map(self.of_id, filter(None, ids)), *marks], MOST_LEFT)

    @property
    def requests(self) -> tuple[int, int]:
        """Two marks of the request: for the same program sending it again, and the same for any model, as many clients
        ask another model if the first fails."""
        if self._requests is None:
            whole = b"whole" if self._is_whole_by(_LAST_STEP) else b""
            before = [id.encode("utf-8", "replace") for id in self._goes_on_from]
            told = [whole, *before, *filter(None, [self._person]), *(said.digest for said in self._read[:_LAST_STEP])]
            models = as_text(self._fields.get("model")), ""
            of_one, of_any = (f"{model}\n{self._agent}".encode("utf-8", "replace") for model in models)
            self._requests = self._mark(Kind.REQUEST, of_one, *told), self._mark(Kind.REQUEST, of_any, *told)
        return self._requests

    def drop_texts(self) -> None:
        """Once the stream that the request continues is found, keep only the digests of the turns read for that."""
        self._read = [said._replace(ids=(), texts=()) for said in self._read[: _LAST_STEP + 1]]

    def release(self) -> None:
        """Keep only what the marks of its answer are made from."""
        self._has(_LAST_STEP)
        self._voice()
        self.drop_texts()
        self._reading = iter(())
        self._fields = {}

    @cached_property
    def tools(self) -> frozenset[str]:
        """The names of the tools that the request offers, or the types of those without a name."""
        return tools_in(self._fields)

    @property
    def is_beginning(self) -> bool:
        """Whether the request repeats no answer."""
        return next(self._answers(), None) is None

    def _answered_ids(self) -> Iterator[tuple[list[str], bool]]:
        """The ids of answers that the request says it continues; then, turn by turn from the last, the ids in it, the
        last ones first as one turn may contain several answers, and whether it is an answer."""
        ids = self._goes_on_from
        number = len(ids)
        yield ids, False
        for at in range(_MOST_TURNS):
            if number >= _MOST_IDS or not self._has(at):
                return
            ids = list(filter(looks_random, reversed(self._read[at].ids)))
            number += len(ids)
            yield ids, self._read[at].is_answer

    def _answers(self) -> Iterator[int]:
        """The positions of the last answers."""
        number = 0
        for at in range(_MOST_TURNS):
            if number == _MOST_ANSWERS or not self._has(at):
                return
            if self._read[at].is_answer:
                number += 1
                yield at

    def _answers_by_text(self, is_named: bool) -> Iterator[int]:
        """The answers that are looked for by their text. Two agents may say the same, so an answer whose calls have ids
        is looked for by those."""
        return (at for at in self._answers() if is_named or not self._read[at].is_by_id)

    def _known_by(self, at: int, is_named: bool) -> Iterator[int]:
        """The marks of an answer with what came before it, from most context to least."""
        before, is_whole = self._before(at)
        chain = list(self._chain(self._read[at], before, is_whole=is_whole))
        yield from _telling(reversed(chain), is_named)

    def _begun_by(self, at: int, is_named: bool) -> Iterator[int]:
        """The mark of the longest beginning of an answer that the request has."""
        before, is_whole = self._before(at)
        text = "".join(self._read[at].texts).strip()
        yield from _telling(islice(self._beginnings(text, before, is_whole=is_whole), 1), is_named)

    def _before(self, at: int) -> tuple[list[_Said], bool]:
        """What came before a turn, and whether that is the conversation from its beginning."""
        before = [self._read[each] for each in range(at + 1, at + 1 + _LAST_STEP) if self._has(each)]
        return before, self._is_whole_by(at + 1 + _LAST_STEP)

    def _chain(self, answer: _Said, before: list[_Said], *, is_whole: bool) -> Iterator[tuple[int, int | None]]:
        """The marks of an answer with more and more of what came before it, and how many characters each covers; None
        for calls that are known by their ids, and for the whole conversation. No text beside such calls is covered."""
        if called := _since_calls(before):
            *later, last = called
            weight = answer.weight + sum(each.weight for each in later) + last.calls_weight
            told = [*(each.digest for each in later), last.calls, answer.digest]
            yield self._mark(Kind.ANSWER, b"since", *told), None if last.is_by_id else weight
        digest, weight = answer.digest, answer.weight
        for step, turn in enumerate(before, 1):
            digest, weight = self._digest(digest, turn.digest), weight + turn.weight
            if step in _STEPS:
                yield self._mark(Kind.ANSWER, digest), weight
        if is_whole:
            yield self._mark(Kind.ANSWER, b"whole", digest), None
        whole = b"whole" if is_whole else b""
        yield self._mark(Kind.ANSWER, b"voice", self._voice(), whole, digest), None if is_whole else weight

    def _beginnings(self, text: str, before: list[_Said], *, is_whole: bool) -> Iterator[tuple[int, int | None]]:
        """The marks of an answer's beginnings, the longest first, and how many characters each covers, as `_chain`."""
        context = self._voice(), b"whole" if is_whole else b"", *(turn.digest for turn in before)
        weight = sum(turn.weight for turn in before)
        for length in _BEGINNINGS:
            if len(text) >= length:
                told = b"begun", self._person, *context, text[:length].encode("utf-8", "surrogatepass")
                yield self._mark(Kind.ANSWER, *told), None if is_whole else weight + length

    def _errands(self) -> Iterator[int]:
        """What this agent was told, which may repeat what another agent's call says."""
        for words in islice(chain.from_iterable(said.told for said in self._read), _MOST_ERRANDS):
            yield self._errand(words)
            yield self._errand(words, self._trade)

    def _errands_left(self, errands: Iterable[bytes], before: Iterable[_Said]) -> Iterator[Iterable[int]]:
        """The marks of errands in calls. An agent may hand on, or search for, the very words that it was told: another
        person may say the same to the same agent meanwhile, so only agents with other tools may be meant."""
        told = {words for said in before for words in said.told}
        for words in errands:
            trades = (trade for trade in range(_TRADES) if trade != self._trade) if words in told else (None,)
            yield (self._errand(words, trade) for trade in trades)

    @cached_property
    def _trade(self) -> int:
        """One of a few numbers, most often another one for agents with other tools."""
        return self._digest(*(name.encode("utf-8", "replace") for name in sorted(self.tools)))[0] % _TRADES

    def _voice(self) -> bytes:
        """What stays the same across many conversations of a program, but differs between programs."""
        if self._voiced is None:
            told = [self._agent, as_text(self._fields.get("model")), *sorted(self.tools)]
            words = system_prompt_of(self._fields, self._turns)
            self._voiced = self._digest(*[each.encode("utf-8", "replace") for each in told], words)
        return self._voiced

    def of_id(self, id: str) -> int:
        """The mark of an id that was in an answer, or of the conversation that the answer was added to."""
        return self._mark(Kind.ID, id.encode("utf-8", "replace"))

    def _words(self, text: str) -> bytes:
        return self._digest(brief(text.strip()).encode("utf-8", "replace"))

    def _errand(self, words: bytes, trade: int | None = None) -> int:
        return self._mark(Kind.ERRAND, words, *([] if trade is None else [bytes([trade])]))

    def _has(self, at: int) -> bool:
        """Whether the request has a turn this far from its end; reads up to it."""
        while len(self._read) <= at and not self._is_whole:
            turn = next(self._reading, None)
            if turn is None:
                self._is_whole = True
            else:
                self._read.append(self._said(turn))
        return at < len(self._read)

    def _is_whole_by(self, at: int) -> bool:
        """Whether the request has its conversation from the beginning, in at most this many turns; reads that many in
        any case."""
        return not (self._has(at) or self._goes_on_from)

    def _said(self, turn: Turn) -> _Said:
        digest = self._digest(b"answer" + self._person if turn.is_answer else b"", turn.said)
        ids = list(filter(looks_random, turn.call_ids))
        calls = [each.encode("utf-8", "surrogatepass") for each in ids or turn.calls]
        called = self._digest(*calls) if calls else b""
        weight = sum(map(len, turn.calls))
        texts = () if turn.is_answer else turn.texts[:_MOST_ERRANDS]
        told = [self._words(errand_of(text)) for text in texts if len(text.strip()) >= TELLING_ERRAND]
        return _Said(digest, turn.weight, turn.is_answer, called, weight, bool(ids), told, turn.ids, turn.texts)

    def _digest(self, *parts: bytes) -> bytes:
        return _with(self._hashes.plain, *parts).digest()

    def _mark(self, kind: Kind, *parts: bytes) -> int:
        return numbered(kind, _with(self._hashes.of_kind[kind], *parts).digest())


def _since_calls(before: Iterable[_Said]) -> list[_Said]:
    """The answers back to the last one that made calls; empty if none did."""
    answers = [turn for turn in before if turn.is_answer]
    number = next((number for number, answer in enumerate(answers, 1) if answer.calls), 0)
    return answers[:number]


def _telling(marks: Iterable[tuple[int, int | None]], is_named: bool) -> Iterator[int]:
    """The marks that cover enough to prove something; in a session that the client named, even little does."""
    return (mark for mark, weight in marks if is_named or weight is None or weight >= _TELLING)


def looks_random(id: str) -> bool:
    """Whether an id looks unique, and not like a number or word."""
    runs = (run for run in _RUN.findall(id[-200:]) if not (run.isalpha() or run.isdigit()))
    return any(len(set(run)) >= _FEWEST_DISTINCT for run in runs)


def _previous_message(fields: JsonObject) -> object:
    return as_object(fields.get("thread")).get("previous_message_id")
