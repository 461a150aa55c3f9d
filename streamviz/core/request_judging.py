"""A request before it goes upstream: judged, and perhaps replaced or denied."""

from collections.abc import Sequence
from functools import partial

from streamviz.core.judgements import Answer, ChainContext
from streamviz.core.judging import Judging
from streamviz.core.policy import ActivePolicy, Consult, Policy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Verdict


class RequestJudging:
    """Runs the policies that have a say in requests. `call` is the request as it is to go upstream."""

    def __init__(self, policies: Sequence[ActivePolicy], call: ModelCall, context: ChainContext) -> None:
        asked = [active for active in policies if type(active.policy).on_request is not Policy.on_request]
        self._context = context
        self._judging = Judging(call, asked, partial(_judge, context=context), _revised, ordinal=None, counts=True)
        self._judging.advance(context)

    @property
    def call(self) -> ModelCall:
        return self._judging.subject

    @property
    def denied(self) -> tuple[ActivePolicy, Verdict] | None:
        """The policy that denied the request, and its verdict, if one did."""
        return self._judging.final

    @property
    def is_settled(self) -> bool:
        return self._judging.is_settled

    def answer(self, number: int, answer: Answer) -> None:
        """Take the answer to a question; a late one is ignored."""
        question = self._context.questions.pop(number, None)
        if question is not None:
            self._judging.answer(question, answer, self._context)
            self._judging.advance(self._context)


def _judge(active: ActivePolicy, call: ModelCall, *, context: ChainContext) -> Verdict | Consult | None:
    return active.policy.on_request(call, context)


def _revised(call: ModelCall, verdict: Verdict) -> ModelCall:
    if verdict.request is None:
        return call
    names = call.names if verdict.request.get("model") == call.model else ()
    return ModelCall(call.wire_format, verdict.request, call.size, names)
