"""POST /v1/messages/count_tokens."""

import asyncio

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.context import StreamingContext
from streamviz.core.errors import ClientFacingError
from streamviz.core.json_value import encode
from streamviz.core.judgements import Answer, ModelSaid, Question, Unanswered
from streamviz.core.policy import Mode
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.proxy import http
from streamviz.proxy.answers import consult
from streamviz.proxy.calls import client_headers, target_of
from streamviz.proxy.formats import ANTHROPIC_MESSAGES
from streamviz.proxy.relay import denial
from streamviz.proxy.requests import ModelRequest, read_request
from streamviz.proxy.worker import Worker
from streamviz.upstream.raw import open_raw
from streamviz.upstream.targets import Lane
from streamviz.upstream.token_counts import count_tokens

PATH = f"{ANTHROPIC_MESSAGES.path}/count_tokens"


async def token_count(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """The provider's own count where it speaks Anthropic's format, else LiteLLM's, which says when it is an estimate.

    Raises RequestError and UpstreamError.
    """
    key = worker.authenticate(scope)
    request = await _judged(worker, read_request(await http.read_body(receive), ANTHROPIC_MESSAGES), key.name)
    target = await target_of(worker, ANTHROPIC_MESSAGES, scope, request)
    if target.lane is Lane.TRANSLATED:
        count = await count_tokens(target, request.fields, settings.UPSTREAM_SILENCE_SECONDS)
        await http.respond(send, 200, {"content-type": "application/json"}, encode(count))
        return
    body = request.body_for(target.model)
    answer = await open_raw(worker.client, target.at("/count_tokens"), body, client_headers(scope))
    try:
        data = b"".join([piece async for piece in answer])
    finally:
        answer.close()
    await http.respond(send, answer.status, {**answer.headers}, data)


async def _judged(worker: Worker, request: ModelRequest, key_name: str) -> ModelRequest:
    """The request as policies leave it: who counts it reads it, like a model. There is no stream to note verdicts on.

    Raises RequestError where one denies it.
    """
    chosen = worker.standing.policies_for(request.model, key_name).active
    enforcing = [active for active in chosen if active.mode is Mode.ENFORCE]
    call = ModelCall(ANTHROPIC_MESSAGES.name, request.fields)
    context = StreamingContext("count", worker.observers.clock.now, call)
    judging = RequestJudging(enforcing, call, context)
    while not judging.is_settled:
        for number, question in list(context.questions.items()):
            judging.answer(number, await _ask(worker, question))
    if judging.denied is not None:
        raise denial(*judging.denied)
    return request.replaced_by(judging.call)


async def _ask(worker: Worker, question: Question) -> Answer:
    assert question.consult is not None
    try:
        async with asyncio.timeout(question.seconds):
            return ModelSaid(await consult(worker, question.consult))
    except (TimeoutError, ClientFacingError) as error:
        return Unanswered(f"the model could not be asked: {error}")
