"""POST /v1/messages/count_tokens."""

from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.context import StreamingContext
from streamviz.core.json_value import encode
from streamviz.core.masking import kept_values
from streamviz.core.model_names import model_names
from streamviz.core.policy import Decision, Mode
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.proxy import http
from streamviz.proxy.answers import helpers
from streamviz.proxy.calls import FindTarget, client_headers, target_of
from streamviz.proxy.driver import asked
from streamviz.proxy.formats import ANTHROPIC_MESSAGES
from streamviz.proxy.relay import denial
from streamviz.proxy.requests import ModelRequest, read_request
from streamviz.proxy.worker import Worker
from streamviz.records.standing import KnownKey
from streamviz.upstream.answer import BoundedAnswer
from streamviz.upstream.raw import open_raw
from streamviz.upstream.targets import Lane, Target
from streamviz.upstream.token_counts import count_tokens

PATH = f"{ANTHROPIC_MESSAGES.path}/count_tokens"


async def token_count(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """The provider's own count where it speaks Anthropic's format, else LiteLLM's, which says when it is an estimate.

    Raises RequestError and UpstreamError.
    """
    key = worker.authenticate(scope)
    find = partial(target_of, worker, ANTHROPIC_MESSAGES, scope, key)
    request, target = await _settled(
        worker, read_request(await http.read_body(scope, receive), ANTHROPIC_MESSAGES), key, find
    )
    if target.lane is Lane.TRANSLATED:
        count = await count_tokens(target, request.fields, settings.UPSTREAM_SILENCE_SECONDS)
        await http.respond(send, 200, {"content-type": "application/json"}, encode(count))
        return
    body = request.body_for(target.model)
    policies = worker.standing.policies_for(model_names(request.model, target.provider, target.model), key.name).active
    headers = kept_values(client_headers(scope), policies)
    opened = await open_raw(worker.client, target.at("/count_tokens"), body, headers)
    answer = BoundedAnswer(opened, settings.ANSWER_BOUNDS)
    try:
        data = b"".join([piece async for piece in answer])
    finally:
        answer.close()
    await http.respond(send, answer.status, {**answer.headers}, data)


async def _settled(
    worker: Worker, request: ModelRequest, key: KnownKey, find: FindTarget
) -> tuple[ModelRequest, Target]:
    """The request as the policies of the model that is called leave it, and where it goes.

    Who counts it reads it, like a model. There is no stream to note verdicts on. Raises RequestError where one denies.
    """
    changed_it: set[str] = set()
    while True:
        target = await find(request)
        judged = await _judged(
            worker, request, model_names(request.model, target.provider, target.model), key, changed_it
        )
        if judged.model == request.model:
            return judged, target
        request = judged


async def _judged(
    worker: Worker, request: ModelRequest, names: tuple[str, ...], key: KnownKey, changed_it: set[str]
) -> ModelRequest:
    """The request as policies leave it, but for those that have changed it before."""
    chosen = worker.standing.policies_for(names, key.name).active
    enforcing = [each for each in chosen if each.mode is Mode.ENFORCE and each.name not in changed_it]
    call = ModelCall(ANTHROPIC_MESSAGES.name, request.fields, len(request.body), names)
    context = StreamingContext("count", worker.observers.clock.now, call, owner=str(key.id or ""))
    judging = RequestJudging(enforcing, call, context)
    while not judging.is_settled:
        for number, question in list(context.questions.items()):
            judging.answer(number, await asked(question, helpers(worker)))
    if judging.denied is not None:
        raise denial(*judging.denied)
    changed_it |= {each.policy.name for each in context.judgements if each.verdict.decision is Decision.REPLACE}
    return request.replaced_by(judging.call)
