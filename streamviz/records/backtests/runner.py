"""Run a policy over the newest streams of the record."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.db.models import Q, QuerySet

from streamviz.bounded import within
from streamviz.core.aggregator import Chunk
from streamviz.core.events import MALFORMED_CHUNK
from streamviz.core.json_value import as_object, decode
from streamviz.core.judgements import Answer, Question
from streamviz.core.model_names import REPLAY, model_names
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.rerun import Recording, Rerun, nobody, rerun
from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Mode
from streamviz.core.wire import COMPOSERS
from streamviz.evaluation.pool import Pool
from streamviz.records.aggregation import events_of
from streamviz.records.archive.bucket import ObjectAway
from streamviz.records.backtests.figures import Decisions, Figures
from streamviz.records.models import Stream, Verdict
from streamviz.records.replays import IS_REPLAY
from streamviz.records.runs import StoredChunk
from streamviz.records.scoped_policies import ScopedPolicy
from streamviz.records.tapes import upstream_runs_of

# How many streams are in memory at once, however many the back-test goes over.
BATCH = 50

Progress = Callable[[Figures, int], bool]


class Scope(NamedTuple):
    """The streams that a back-test goes over: the newest `streams`, none requested before `since`."""

    streams: int
    since: datetime | None = None

    def size(self) -> int:
        """How many such streams there are now."""
        return min(self.streams, self._found().count())

    def batches(self) -> Iterator[list[Stream]]:
        """Newest first."""
        left, last = self.streams, None
        while left:
            found = self._found()
            if last is not None:
                earlier = Q(requested_at__lt=last.requested_at) | Q(requested_at=last.requested_at, pk__lt=last.pk)
                found = found.filter(earlier)
            batch = list(found[: min(BATCH, left)])
            if not batch:
                return
            yield batch
            left -= len(batch)
            last = batch[-1]

    def _found(self) -> QuerySet[Stream]:
        found = Stream.objects.exclude(outcome="").select_related("key")
        return found if self.since is None else found.filter(requested_at__gte=self.since)


def run(scoped: ScopedPolicy, policy_id: int, scope: Scope, go_on: Progress) -> Figures:
    """Run a policy over the streams of `scope`, as if it were the only one and enforced.

    `go_on` is called with the progress after each batch, and stops the run by returning False. Models are not asked.
    """
    figures = Figures()
    assert scoped.active is not None
    active = replace(scoped.active, mode=Mode.ENFORCE, by_hand=None)
    with asyncio.Runner() as runner, closing(Pool(1, settings.POLICY_MEMORY_MB)) as pool:
        for batch in scope.batches():
            tapes, recorded = _tapes(batch), _recorded(batch, policy_id)
            for stream in batch:
                made = _why_not(scoped, stream) or _run_one(runner, pool, stream, tapes[stream.pk], active)
                if isinstance(made, str):
                    figures.skip(made)
                else:
                    figures.add(str(stream.pk), made, recorded[stream.pk])
            if not go_on(figures, figures.streams):
                break
    return figures


def _why_not(scoped: ScopedPolicy, stream: Stream) -> str:
    """Why the policy does not apply; empty if it does. A replay is skipped, as its original gives the same result."""
    if stream.provider == REPLAY:
        return IS_REPLAY
    names = model_names(stream.requested_model, stream.provider, stream.upstream_model)
    return scoped.why_not(names, stream.key.name if stream.key else "")


def _run_one(
    runner: asyncio.Runner, pool: Pool, stream: Stream, tape: list[Chunk] | str, active: ActivePolicy
) -> Rerun | str:
    """The result of the run, or why the stream could not be run."""
    recording = tape if isinstance(tape, str) else recording_of(stream, tape)
    if isinstance(recording, str):
        return recording
    made = runner.run(rerun(recording, [active], partial(_ask, pool), within))
    failure = made.state.failure
    is_unreadable = failure is not None and failure.kind == MALFORMED_CHUNK
    return "it cannot be read" if is_unreadable and not recording.is_streaming else made


async def _ask(pool: Pool, question: Question) -> Answer:
    return await (nobody(question) if question.work is None else pool.judge(question.work, question.seconds))


def recording_of(stream: Stream, chunks: list[Chunk] | None = None) -> Recording | str:
    """A recorded stream in a form that can be run again, or why it cannot be."""
    if chunks is None:
        chunks = _chunks([stream])[stream.pk]
    if stream.wire_format not in COMPOSERS:
        return "no policy runs on this format"
    if not chunks:
        return "no chunks are on record"
    try:
        fields = as_object(decode(bytes(stream.request)))
    except ValueError:
        return "the request was not kept"
    cost = partial(_price, stream.upstream_model, stream.provider)
    call = ModelCall(stream.wire_format, fields, len(stream.request))
    return Recording(call, chunks, stream.is_streaming and len(chunks) > 1, cost)


def _price(model: str, provider: str, tokens: Tokens) -> float | None:
    # LiteLLM takes seconds to import, and only limits on cost need prices.
    from streamviz.upstream.prices import price

    return price(model, provider, tokens)


def _tapes(batch: Sequence[Stream]) -> dict[uuid.UUID, list[Chunk] | str]:
    """The upstream tapes of these streams, or for each why it is unavailable. Raises ChunksAway while the archive does
    not respond."""
    try:
        return {**_chunks(batch)}
    except ObjectAway as error:
        if len(batch) == 1:
            return {batch[0].pk: f"the chunks cannot be read: {error}"}
    return {pk: tape for stream in batch for pk, tape in _tapes([stream]).items()}


def _chunks(batch: Sequence[Stream]) -> dict[uuid.UUID, list[Chunk]]:
    """The upstream tapes of these streams; empty if bytes were not kept."""
    found: dict[uuid.UUID, list[Chunk]] = {stream.pk: [] for stream in batch}
    lost: set[uuid.UUID] = set()
    streaming = {stream.pk for stream in batch if stream.is_streaming}
    for run_ in upstream_runs_of(found):
        for stored in run_.chunks():
            if stored.raw is None:
                lost.add(run_.stream_id)
                break
            found[run_.stream_id].append(_chunk(stored, is_streaming=run_.stream_id in streaming))
    return {pk: [] if pk in lost else chunks for pk, chunks in found.items()}


def _chunk(stored: StoredChunk, *, is_streaming: bool) -> Chunk:
    """A stored chunk as policies read it. One that is no event says nothing."""
    raw = stored.raw or b""
    whole = Chunk(stored.seq, stored.received_at, raw, None if is_streaming else raw)
    return next(events_of(stored), whole) if is_streaming else whole


def _recorded(batch: Sequence[Stream], policy_id: int) -> dict[uuid.UUID, Decisions]:
    found: dict[uuid.UUID, Decisions] = defaultdict(dict)
    # What it denied in shadow was allowed all the same.
    verdicts = Verdict.objects.filter(
        stream__in=[stream.pk for stream in batch], policy_version__policy=policy_id, mode=Mode.ENFORCE.value
    )
    for stream_id, ordinal, decision in verdicts.order_by("number").values_list("stream_id", "ordinal", "decision"):
        found[stream_id][ordinal] = decision
    return found
