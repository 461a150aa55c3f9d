"""How a call begins: who calls, where the call goes, what answers it, and the stream that it becomes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from asgiref.typing import HTTPScope
from django.conf import settings

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.request import ModelCall
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.stream import LiveStream, Place
from streamviz.executors.executor import Executor, ExecutorError
from streamviz.executors.registry import PASSTHROUGH, build
from streamviz.logs import about_stream
from streamviz.proxy import http
from streamviz.proxy.replays import is_replay, replay_target
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.said import Said, said_of
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.ids import uuid7
from streamviz.records.models.streams import Relation
from streamviz.records.moments import Clock
from streamviz.traces import HEADER
from streamviz.upstream.other_models import called_by_tools, require_one_model
from streamviz.upstream.targets import Lane, Target

EXECUTOR = b"x-streamviz-executor"


@dataclass(frozen=True, slots=True)
class Part:
    """What a call of a run is for, and what answers it. `run` is the run's stream, `said` what its client said;
    `came_to` is called with the cost of the call in US dollars (None if unknown) and its outcome."""

    name: str
    run: LiveStream
    said: Said
    executor: Executor
    came_to: Callable[[float | None, str], None]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, when, and in which format; `part` is set for a call of a run."""

    worker: Worker
    wire_format: WireFormat
    scope: HTTPScope
    key: KnownKey
    clock: Clock
    requested_at: int
    part: Part | None = None

    def find(self, request: ModelRequest, before: Target | None = None) -> Awaitable[Target]:
        """Where a request goes. Raises RequestError if it cannot or may not be sent."""
        return target_of(self.worker, self.wire_format, self.scope, self.key, request, before)

    def says(self, request: ModelRequest) -> Said:
        """What its request says besides what goes upstream; for calls of a run, what the run's client said."""
        return said_of(self.wire_format, self.scope, request.fields) if self.part is None else self.part.said

    def executor(self, model: str) -> Executor:
        """What answers its calls of a model. Raises RequestError if it names an executor that does not exist or that it
        may not use."""
        if self.part is not None:
            return self.part.executor
        route = self.worker.configuration.routes.get(model)
        asked = http.header(self.scope, EXECUTOR).strip()
        if not asked or (route is not None and route.executor.name == asked):
            return route.executor if route is not None else PASSTHROUGH
        if not self.key.may_choose_executor:
            message = (
                f"The API key {self.key.name} may not choose an executor. Leave {EXECUTOR.decode()} out, or have an"
                " administrator allow it for the key."
            )
            raise RequestError(403, message, kind="permission_error", code="executor_not_allowed")
        try:
            return build(asked, {})
        except ExecutorError as error:
            raise RequestError(400, f"{EXECUTOR.decode()}: {error}.", code="unknown_executor") from error


async def target_of(
    worker: Worker,
    wire_format: WireFormat,
    scope: HTTPScope,
    key: KnownKey,
    request: ModelRequest,
    before: Target | None = None,
) -> Target:
    """Where a request goes, and its credential. A client's own credential goes only where the client's request led: to
    `before`, if a policy changed the request. Raises RequestError if the request cannot or may not be sent."""
    if is_replay(worker, request.model):
        return await replay_target(request, wire_format, key)
    target = await worker.target_for(request.model, wire_format.name)
    if not key.may_call(request.model, target.provider, target.model):
        raise _not_allowed(key, request.model, "model")
    # A key that opens all models opens those, too; to find them takes a look at every part of a conversation.
    for model in called_by_tools(request.fields) if key.models else ():
        if not key.may_call(model, target.provider, model):
            raise _not_allowed(key, model, "tools")
    is_clients = before is None or before.is_beside(target)
    if settings.CLIENT_CREDENTIALS and is_clients and (credentials := http.credentials(scope)):
        target = target.with_key(*credentials[0])
    target.require_key()
    require_one_model(request.fields)
    if target.lane is Lane.TRANSLATED:
        from streamviz.upstream.translated import require_translatable  # loaded on demand

        if not wire_format.is_of_numbers:
            request.require_translatable()
        require_translatable(target, request.fields)
    return target


def _not_allowed(key: KnownKey, model: str, where: str) -> RequestError:
    message = f"The API key {key.name} may not use the model `{model}`. See GET /v1/models."
    return RequestError(403, message, kind="permission_error", code="model_not_allowed", param=where)


def new_stream(
    caller: Caller,
    said: Said,
    request: ModelRequest,
    clients_own: JsonObject,
    aggregator: Aggregator[Chunk, JsonObject],
) -> LiveStream:
    """The stream that a call becomes, in its session, which is found by the `clients_own` request: that is what later
    requests repeat."""
    wire_format, key, requested_at = caller.wire_format, caller.key, caller.requested_at
    stream_id = uuid7()
    about_stream(stream_id)
    session_id, place = _place_of(stream_id, caller, said, clients_own, aggregator)
    state = aggregator.state
    return LiveStream(
        id=stream_id,
        session_id=session_id,
        session_label="",
        key_id=key.id,
        key_name=key.name,
        endpoint=wire_format.path,
        wire_format=wire_format.name,
        is_streaming=request.is_streaming,
        requested_model=request.model,
        requested_at=requested_at,
        state=state,
        context=ChainContext(
            str(stream_id),
            caller.clock.now,
            ModelCall(wire_format.name, request.fields, len(request.body)),
            caller.worker.sessions.counts(session_id, requested_at),
            state,
            began_at=requested_at,
            owner=str(key.id or session_id),
        ),
        client=said.client[0],
        place=place,
        part="" if caller.part is None else caller.part.name,
        head=aggregator.head,
        trace=caller.worker.observers.begin(_traceparent(caller)),
    )


def _traceparent(caller: Caller) -> str:
    """The parent of its span: the client's span, or the run's."""
    if caller.part is None:
        return http.header(caller.scope, HEADER.encode())
    trace = caller.part.run.trace
    return trace.header if trace else ""


def _place_of(
    stream_id: UUID, caller: Caller, said: Said, request: JsonObject, aggregator: Aggregator[Chunk, JsonObject]
) -> tuple[UUID, Place]:
    """The session of a stream and its place there: calls of a run are below the run."""
    if (part := caller.part) is not None:
        return part.run.session_id, Place(part.run.id, Relation.STEP, part.run.place.is_named)
    sessions = caller.worker.sessions
    owner = caller.key.told_apart_by
    return sessions.begin(stream_id, said, request, owner, caller.requested_at, aggregator)
