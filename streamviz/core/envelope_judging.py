"""Policies for texts read an answer's envelope: ids, counts, errors, what it repeats of its request."""

from collections.abc import Iterator, Sequence

from streamviz.core.blocks import Told
from streamviz.core.events import BlockKind
from streamviz.core.hooks import Failed, called, require_in_time
from streamviz.core.json_value import levels
from streamviz.core.judgements import ChainContext, Judgement, Subject
from streamviz.core.policy import ActivePolicy, Policy, Rest
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict

# How many characters are read at once, with how many of those before them.
_SLICE = 4_000
_OVERLAP = 1_000
# What an answer repeats of these is read all the same.
_NOT_REPEATED = frozenset({"messages", "input", "contents"})
_RESTS_AFTER = 50


class EnvelopeJudging:
    """Has policies read each text of one stream's envelope.

    Nothing can be replaced there, so whatever an enforcing policy finds ends the stream. What upstream repeats of the
    request, as it was sent, is the client's own.
    """

    def __init__(self, policies: Sequence[ActivePolicy]) -> None:
        self._readers = [active for active in policies if _reads(active)]
        self._asked: set[str] | None = None

    async def forbidden(self, told: Sequence[Told], context: ChainContext, rest: Rest) -> str:
        """Why the chunk that said this must not reach the client; empty if it may."""
        for number, each in enumerate(told, 1):
            is_long = len(each.text) > _SLICE
            if is_long and self._is_asked(each.text, context.request):
                continue
            for piece in _pieces(each.text):
                if why := self._read(piece, each, context):
                    return why
                if is_long or number % _RESTS_AFTER == 0:
                    await rest()
        return ""

    def _read(self, piece: str, told: Told, context: ChainContext) -> str:
        for active in list(self._readers):
            if told.is_summary and _masks_summaries(active):
                continue
            if (judgement := self._judge(active, piece, told, context)) is None:
                continue
            self._readers.remove(active)
            context.judgements.append(judgement)
            if active.mode is Mode.ENFORCE and judgement.verdict.decision is not Decision.ALLOW:
                return f"policy {active.name} forbids what upstream says beside its answer"
        return ""

    def _judge(self, active: ActivePolicy, piece: str, told: Told, context: ChainContext) -> Judgement | None:
        began = context.now()
        found = called(self._found, active, piece, told.is_word, context)
        at = context.now()
        if found and self._is_asked(told.text, context.request):
            return None
        if isinstance(found, Failed):
            verdict, failure = active.failed(found.words), found.words
        elif found:
            reason = f"Found in the response's metadata or an error: {found}."
            verdict, failure = Verdict(Decision.HALT, reason, evidence={"label": found}), ""
        else:
            return None
        return Judgement(active, None, verdict, at, at - began, failure, Subject.STREAM)

    def _found(self, active: ActivePolicy, piece: str, is_word: bool, context: ChainContext) -> str:
        began = context.now()
        found = active.policy.found_beside(piece, is_word)
        require_in_time(active, context.now() - began)
        return found

    def _is_asked(self, text: str, request: ModelCall) -> bool:
        """Whether the request has exactly this text, or it names the model that was called."""
        if self._asked is None:
            said = [value for name, value in request.fields.items() if name not in _NOT_REPEATED]
            names = {each for name in request.names for each in (name, name.partition("/")[2])}
            self._asked = texts_in(said) | names
        return text in self._asked


def found_beside(policy: Policy, told: Told) -> str:
    """What a policy finds in a text of the envelope. Raises what the policy raises."""
    return next(filter(None, (policy.found_beside(piece, told.is_word) for piece in _pieces(told.text))), "")


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, max(1, len(text)), _SLICE):
        yield text[max(0, at - _OVERLAP) : at + _SLICE]


def _masks_summaries(active: ActivePolicy) -> bool:
    kinds = active.scope.kinds
    return active.policy.masks_summaries and (not kinds or BlockKind.OTHER in kinds)


def _reads(active: ActivePolicy) -> bool:
    return type(active.policy).found_beside is not Policy.found_beside and not active.scope.tools


def texts_in(values: list[object]) -> set[str]:
    """All texts in JSON values, including names of members."""
    found: set[str] = set()
    for level in levels(values):
        found.update(level.texts, *level.objects)
    return found
