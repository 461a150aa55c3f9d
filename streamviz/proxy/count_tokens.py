"""POST /v1/messages/count_tokens, and Gemini's :countTokens."""

from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.core.json_value import encode
from streamviz.core.judgements import ChainContext
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import ANTHROPIC_MESSAGES
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.errors import denial
from streamviz.proxy import hops, http
from streamviz.proxy.answers import helpers, whole
from streamviz.proxy.beginning import Caller
from streamviz.proxy.client_headers import end_to_end
from streamviz.proxy.questions import asked as answer_to
from streamviz.proxy.refusals import about_model
from streamviz.proxy.requests import ModelRequest, read_aside, read_request
from streamviz.proxy.worker import Worker
from streamviz.records.moments import Clock
from streamviz.upstream.answer import BoundedAnswer
from streamviz.upstream.raw import open_raw
from streamviz.upstream.targets import Lane, Target

PATH = f"{ANTHROPIC_MESSAGES.path}/count_tokens"


async def token_count(
    wire_format: WireFormat, worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
) -> None:
    """Respond with the provider's own count if it speaks the format, otherwise with LiteLLM's, which says if it is an
    estimate.

    Raises RequestError and UpstreamError.
    """
    key, clock = worker.authenticate(scope), Clock()
    caller = Caller(worker, wire_format, scope, key, clock, clock.now())
    body = await http.read_body(scope, receive)
    asked = await read_aside(body, partial(read_request, wire_format=wire_format))
    about_model(scope, asked.model)
    request, target = await _settled(caller, asked)
    if target.lane is Lane.REPLAYED:
        raise RequestError(
            400, "A recorded stream has no model to count tokens with.", code="not_countable", param="model"
        )
    if target.lane is Lane.TRANSLATED:
        from streamviz.upstream.token_counts import count_tokens  # loaded on demand: upstream/loading.py

        count = await count_tokens(target, request.fields, settings.UPSTREAM_SILENCE_SECONDS)
        await http.respond(send, 200, {"content-type": "application/json"}, encode(count))
        return
    where, body = request.counted(target)
    policies = worker.configuration.policies_for(target.names(request.model), key.name).active
    headers = {**end_to_end(scope, policies), **hops.onward(scope)}
    opened = await open_raw(worker.client, where, body, headers)
    answer = BoundedAnswer(opened, settings.ANSWER_BOUNDS)
    await http.respond(send, answer.status, {**answer.headers}, await whole(answer))


async def _settled(caller: Caller, request: ModelRequest) -> tuple[ModelRequest, Target]:
    """The request as the policies of the model that is called leave it, and its target.

    Whoever counts the tokens reads the request, as a model would. There is no stream to note verdicts on. Raises
    RequestError if a policy denies it.
    """
    changed_it: set[str] = set()
    first = None
    while True:
        target = await caller.find(request, first)
        first = first or target
        judged = await _judged(caller, request, target.names(request.model), changed_it)
        if judged.model == request.model:
            return judged, target
        request = judged


async def _judged(caller: Caller, request: ModelRequest, names: tuple[str, ...], changed_it: set[str]) -> ModelRequest:
    """The request as policies leave it; those that have already changed it are not asked again."""
    worker, key = caller.worker, caller.key
    chosen = worker.configuration.policies_for(names, key.name).active
    enforcing = [each for each in chosen if each.mode is Mode.ENFORCE and each.name not in changed_it]
    call = ModelCall(caller.wire_format.name, request.fields, len(request.body), names)
    context = ChainContext("count", caller.clock.now, call, owner=str(key.id or ""))
    judging, helped = RequestJudging(enforcing, call, context), helpers(worker, hops.onward(caller.scope))
    while not judging.is_settled:
        for number, question in list(context.questions.items()):
            judging.answer(number, await answer_to(question, helped))
    if judging.denied is not None:
        raise denial(*judging.denied)
    changed_it |= {each.policy.name for each in context.judgements if each.verdict.decision is Decision.REPLACE}
    return request.replaced_by(judging.call)
