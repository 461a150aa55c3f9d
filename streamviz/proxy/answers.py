"""Calling a provider: for a client, or for a policy that asks a model."""

from collections.abc import Mapping
from functools import partial

from django.conf import settings

from streamviz.core.aggregator import Chunk
from streamviz.core.errors import UpstreamError
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.policy import Consult
from streamviz.core.request import ModelCall
from streamviz.core.wire import OPENAI_CHAT, WIRE_FORMATS
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.questions import Helpers
from streamviz.proxy.replays import ReplayedAnswer
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.worker import Worker
from streamviz.upstream.answer import Answer, BoundedAnswer
from streamviz.upstream.foreign_items import for_openai
from streamviz.upstream.raw import open_raw
from streamviz.upstream.targets import Lane, Target


async def open_answer(
    worker: Worker, request: ModelRequest, target: Target, client_headers: Mapping[str, str]
) -> Answer:
    """Send a request on its lane. Raises UpstreamError if upstream refuses it or cannot be reached."""
    return BoundedAnswer(await _opened(worker, request, target, client_headers), settings.ANSWER_BOUNDS)


async def open_counted(
    worker: Worker, stream: LiveStream, request: ModelRequest, target: Target, client_headers: Mapping[str, str]
) -> Answer:
    """Send a client's request, asking for usage if upstream would not report it otherwise. Raises UpstreamError as
    above.

    A provider that does not accept the extra parameter is not asked for usage again.
    """
    if worker.usage_requests.asks(target, request.fields):
        answer = await _opened_with_usage(worker, request, target, client_headers)
        if answer is not None:
            stream.hides_usage, stream.left_out = True, answer.left_out
            return answer
    answer = await open_answer(worker, request, target, client_headers)
    stream.left_out = answer.left_out
    stream.hides_usage = _hid_usage(target, request)
    return answer


async def _opened_with_usage(
    worker: Worker, request: ModelRequest, target: Target, client_headers: Mapping[str, str]
) -> Answer | None:
    """Send the request, asking for usage; None if the provider does not accept that. The call without it is made
    elsewhere, outside the `except`: otherwise its errors would be chained to this refusal."""
    try:
        return await open_answer(worker, request.asking_for_usage(), target, client_headers)
    except UpstreamError as error:
        if not worker.usage_requests.is_refused(target, error):
            raise
        return None


def _hid_usage(target: Target, request: ModelRequest) -> bool:
    """Whether a replay has usage that its original client did not ask for, and this client does not ask for either."""
    is_hidden = target.replay is not None and target.replay.hides_usage
    return is_hidden and not WIRE_FORMATS[target.wire_format].asks_for_usage(request.fields)


async def _opened(worker: Worker, request: ModelRequest, target: Target, client_headers: Mapping[str, str]) -> Answer:
    if target.replay is not None:
        return ReplayedAnswer(target.replay, is_streaming=request.is_streaming)
    if target.lane is Lane.RAW:
        fields, left_out = for_openai(target, request.fields)
        where, body = request.replaced_by(ModelCall(fields=fields)).upstream(target)
        answer = await open_raw(worker.client, where, body, client_headers)
        answer.left_out = left_out
        return answer
    from streamviz.upstream.translated import open_translated  # loaded on demand: upstream/loading.py

    return await open_translated(target, request.fields, settings.UPSTREAM_SILENCE_SECONDS, settings.ANSWER_BOUNDS)


def helpers(worker: Worker, headers: Mapping[str, str]) -> Helpers:
    """Who answers the questions of policies for this worker's streams; models are called with these headers."""
    return Helpers(partial(consult, worker, headers), worker.pool.judge)


async def consult(worker: Worker, headers: Mapping[str, str], question: Consult) -> str:
    """A model's answer to a policy's question. Raises ClientFacingError if it cannot be asked."""
    messages = [
        {"role": "system", "content": question.instructions},
        {"role": "user", "content": question.text},
    ]
    fields: JsonObject = {"model": question.model, "messages": messages}
    request = ModelRequest(encode(fields), fields, question.model, is_streaming=False)
    target = await worker.target_for(question.model, OPENAI_CHAT.name)
    target.require_key()
    body = await whole(await open_answer(worker, request, target, headers))
    aggregator = OPENAI_CHAT.new_aggregator(settings.ANSWER_BOUNDS)
    aggregator.aggregate(Chunk(0, 0, body, body))
    aggregator.close()
    if aggregator.state.failure is not None:
        raise UpstreamError(502, aggregator.state.failure.message)
    return "".join(block.text for block in aggregator.state.blocks if block.kind is BlockKind.CONTENT)


async def whole(answer: Answer) -> bytes:
    """All of an answer, which is then closed. Raises UpstreamError if it breaks off."""
    try:
        return b"".join([piece async for piece in answer])
    finally:
        answer.close()
