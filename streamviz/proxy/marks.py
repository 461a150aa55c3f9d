"""The marks of one request and its answer: what it looks for, and what it leaves for later ones.

An answer is known by what it said together with some of what came before it. How much of that a client still sends
differs: windows slide, old results are cleared, system prompts change. So there is a mark for the answer with 1, 2, 4
and 8 turns before it, one for a conversation from its beginning, and one for the answer alone. What little text says
proves nothing: many answer OK. The surest mark also tells who speaks: the program, its model, its tools and the words
that stand over the conversation. One whom a program names as its user never has another's marks.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire.gemini_requests import functions_of
from streamviz.proxy.session_names import conversation_of
from streamviz.proxy.transcripts import TELLING_ERRAND, Turn, brief, standing, turns_backwards
from streamviz.records.links import MOST_LEFT, Kind, few, numbered

_STEPS = (1, 2, 4, 8)
_LAST_STEP = _STEPS[-1]
# Of a request, turns that are read, and answers that are looked for.
_MOST_TURNS = 40
_MOST_ANSWERS = 6
_MOST_IDS = 16
# Characters that prove something: of an answer with what came before it, and of an answer alone.
_TELLING = 60
_TELLING_ALONE = 200
_MOST_ERRANDS = 8
_RUN = re.compile(r"[A-Za-z0-9]{8,}")
_FEWEST_DISTINCT = 6
# Of more nobody has them all.
_MOST_TOOLS = 1_000
_NO_TOOLS: frozenset[str] = frozenset()
# Owners whose hashes are made already.
_OWNERS = 1_000


class _Said(NamedTuple):
    """A turn, by its digest; the rest is what is looked for."""

    digest: bytes
    weight: int
    is_answer: bool = False
    ids: Sequence[str] = ()
    call_ids: Sequence[str] = ()
    texts: Sequence[str] = ()

    @property
    def is_by_id(self) -> bool:
        """Whether its calls have ids that tell it from any other turn."""
        return any(map(looks_random, self.call_ids))


class _Hashes:
    """What the digests of one owner's marks begin with. `secret` is the installation's."""

    def __init__(self, secret: bytes, owner: str) -> None:
        self.plain = hashlib.blake2b(owner.encode("utf-8", "replace"), digest_size=16, key=secret)
        self.of_kind = [_with(self.plain, str(kind.value).encode()) for kind in Kind]


_hashes = lru_cache(_OWNERS)(_Hashes)


def _with(hash: "hashlib.blake2b", *parts: bytes) -> "hashlib.blake2b":
    """A hash that goes on with these. Each is told with its length, so that no two lists of parts are alike."""
    copy = hash.copy()
    for part in parts:
        copy.update(len(part).to_bytes(4, "big") + part)
    return copy


class Marks:
    """Of one request, whose turns are read as they are needed, from the last one on. `secret` is the installation's,
    `owner` whose marks they are: nobody else's are like them. `agent` is the program that asks."""

    def __init__(self, secret: bytes, owner: str, fields: JsonObject, turns: str, agent: str = "") -> None:
        self._hashes = _hashes(secret, owner)
        self._fields = fields
        self._turns = turns
        self._agent = agent
        self._person = brief(_person_in(fields)).encode("utf-8", "replace")
        self._reading = turns_backwards(fields.get(turns))
        self._read: list[_Said] = []
        self._is_whole = False
        self._requests: tuple[int, int] | None = None
        self._tools: frozenset[str] | None = None
        self._voiced: bytes | None = None
        # What came before the turns is at the provider.
        self.conversation = conversation_of(fields)
        told = fields.get("previous_response_id"), _previous_message(fields), self.conversation
        self._goes_on_from = [id for each in told if (id := as_text(each))]

    def asked(self, *, is_named: bool, is_retry: bool) -> Iterator[int]:
        """What this request looks for, the surest first; in a session that the client `named` little proves much."""
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
        for at in self._answers_by_text(is_named):
            yield from self._known_by(at, is_named)
        # The calls of an answer before the last one only tell where the last, which was text, is not known.
        for ids, _ in answered_ids:
            yield from map(self.of_id, ids)
        for at in self._answers_by_text(is_named):
            if self._read[at].weight >= (1 if is_named else _TELLING_ALONE):
                yield self._mark(Kind.ANSWER, self._read[at].digest)

    def left(self, answers: Iterable[Turn], ids: Iterable[str]) -> list[int]:
        """What later requests may know these answers by; `ids` are those of the message as a whole."""
        is_whole = self._is_whole_by(_LAST_STEP)
        before = self._read[:_LAST_STEP]
        marks: list[int] = []
        for answer in answers:
            told = self._said(answer)
            marks += map(self.of_id, filter(looks_random, answer.ids))
            marks.append(self._mark(Kind.ANSWER, told.digest))
            marks += (mark for mark, _ in self._chain(told, before, is_whole=is_whole))
            marks += map(self._errand, answer.errands)
        return few([*map(self.of_id, filter(None, ids)), *marks], MOST_LEFT)

    @property
    def requests(self) -> tuple[int, int]:
        """The same request, sent again by the same program; and the same whatever model is asked, as many ask another
        one where the first fails."""
        if self._requests is None:
            whole = b"whole" if self._is_whole_by(_LAST_STEP) else b""
            before = [id.encode("utf-8", "replace") for id in self._goes_on_from]
            told = [whole, *before, *filter(None, [self._person]), *(said.digest for said in self._read[:_LAST_STEP])]
            models = as_text(self._fields.get("model")), ""
            of_one, of_any = (f"{model}\n{self._agent}".encode("utf-8", "replace") for model in models)
            self._requests = self._mark(Kind.REQUEST, of_one, *told), self._mark(Kind.REQUEST, of_any, *told)
        return self._requests

    def drop_texts(self) -> None:
        """What the request goes on from was found: of the turns that were read for that, keep the digests."""
        self._read = [_Said(said.digest, said.weight) for said in self._read[: _LAST_STEP + 1]]

    def release(self) -> None:
        """Keep no more of the request than what its answer's marks are made of."""
        self._has(_LAST_STEP)
        self._voice()
        self.drop_texts()
        self._reading = iter(())
        self._fields = {}

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that the request offers; those without a name by their type."""
        if self._tools is None:
            self._tools = _tools_in(self._fields)
        return self._tools

    @property
    def is_beginning(self) -> bool:
        """Whether the request repeats no answer."""
        return next(self._answers(), None) is None

    def _answered_ids(self) -> Iterator[tuple[list[str], bool]]:
        """The ids of answers that the request says it goes on from, then turn by turn those of its turns, the last ones
        first, as several answers may be one turn; and whether that turn is an answer."""
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
        """Where the last answers are."""
        number = 0
        for at in range(_MOST_TURNS):
            if number == _MOST_ANSWERS or not self._has(at):
                return
            if self._read[at].is_answer:
                number += 1
                yield at

    def _answers_by_text(self, is_named: bool) -> Iterator[int]:
        """Those that are looked for by what they say. Two agents may say the same: where its calls have ids, an answer
        is looked for by these."""
        return (at for at in self._answers() if is_named or not self._read[at].is_by_id)

    def _known_by(self, at: int, is_named: bool) -> Iterator[int]:
        """The marks of an answer with what came before it, the most first."""
        before = [self._read[each] for each in range(at + 1, at + 1 + _LAST_STEP) if self._has(each)]
        chain = list(self._chain(self._read[at], before, is_whole=self._is_whole_by(at + 1 + _LAST_STEP)))
        for mark, weight in reversed(chain):
            if is_named or weight is None or weight >= _TELLING:
                yield mark

    def _chain(self, answer: _Said, before: list[_Said], *, is_whole: bool) -> Iterator[tuple[int, int | None]]:
        """The marks of an answer with more and more of what came before it, and how much each stands for: None where
        that is the conversation from its beginning."""
        digest, weight = answer.digest, answer.weight
        for step, turn in enumerate(before, 1):
            digest, weight = self._digest(digest, turn.digest), weight + turn.weight
            if step in _STEPS:
                yield self._mark(Kind.ANSWER, digest), weight
        if is_whole:
            yield self._mark(Kind.ANSWER, b"whole", digest), None
        whole = b"whole" if is_whole else b""
        yield self._mark(Kind.ANSWER, b"voice", self._voice(), whole, digest), None if is_whole else weight

    def _errands(self) -> Iterator[int]:
        """What this agent was told, which may be what another's call says."""
        texts: list[str] = []
        for at in range(_MOST_TURNS):
            if len(texts) >= _MOST_ERRANDS or not self._has(at):
                break
            texts += self._read[at].texts[:_MOST_ERRANDS]
        return (self._errand(text) for text in texts[:_MOST_ERRANDS] if len(text.strip()) >= TELLING_ERRAND)

    def _voice(self) -> bytes:
        """What stays the same in many conversations, but differs between programs."""
        if self._voiced is None:
            told = [self._agent, as_text(self._fields.get("model")), *sorted(self.tools)]
            words = standing(self._fields, self._turns)
            self._voiced = self._digest(*[each.encode("utf-8", "replace") for each in told], words)
        return self._voiced

    def of_id(self, id: str) -> int:
        """The mark of an id that was in an answer, or of the conversation that it was added to."""
        return self._mark(Kind.ID, id.encode("utf-8", "replace"))

    def _errand(self, text: str) -> int:
        return self._mark(Kind.ERRAND, brief(text.strip()).encode("utf-8", "replace"))

    def _has(self, at: int) -> bool:
        """Whether there is a turn so far from the end."""
        while len(self._read) <= at and not self._is_whole:
            turn = next(self._reading, None)
            if turn is None:
                self._is_whole = True
            else:
                self._read.append(self._said(turn))
        return at < len(self._read)

    def _is_whole_by(self, at: int) -> bool:
        """Whether the conversation began less than so many turns ago; so many are read then, whatever it goes on
        from."""
        return not (self._has(at) or self._goes_on_from)

    def _said(self, turn: Turn) -> _Said:
        digest = self._digest(b"answer" + self._person if turn.is_answer else b"", turn.said)
        return _Said(digest, turn.weight, turn.is_answer, turn.ids, turn.call_ids, turn.texts)

    def _digest(self, *parts: bytes) -> bytes:
        return _with(self._hashes.plain, *parts).digest()

    def _mark(self, kind: Kind, *parts: bytes) -> int:
        return numbered(kind, _with(self._hashes.of_kind[kind], *parts).digest())


def looks_random(id: str) -> bool:
    """Whether an id can be taken to be one of a kind, and no number or word."""
    runs = (run for run in _RUN.findall(id[-200:]) if not (run.isalpha() or run.isdigit()))
    return any(len(set(run)) >= _FEWEST_DISTINCT for run in runs)


def _tools_in(fields: JsonObject) -> frozenset[str]:
    if not fields.get("tools"):
        return _NO_TOOLS
    told = objects(fields["tools"])
    # Gemini has its functions in one tool.
    offered = [*told, *chain.from_iterable(map(functions_of, told))]
    own = [as_object(each.get("function")) or each for each in offered]
    names = [each.get("name") or each.get("type") for each in own]
    return frozenset([brief(name) for name in names[:_MOST_TOOLS] if isinstance(name, str)])


def _person_in(fields: JsonObject) -> str:
    """Whom a program calls its user; empty where it names nobody."""
    for told in (fields.get("user"), fields.get("safety_identifier"), as_object(fields.get("metadata")).get("user_id")):
        if isinstance(told, str) and told:
            return told
    return ""


def _previous_message(fields: JsonObject) -> object:
    return as_object(fields.get("thread")).get("previous_message_id")
