"""Drop what must not be kept of streams before anything reaches the journal."""

from collections.abc import Callable
from uuid import UUID

from msgspec.structs import replace

from streamviz.core.model_names import model_names
from streamviz.records.columns import without_content
from streamviz.records.recorder import (
    AnyEntry,
    ChunksReceived,
    FramesSent,
    Recorder,
    StreamClosed,
    StreamOpened,
    VerdictsGiven,
)
from streamviz.records.rules import Privacy


class PrivateRecorder:
    """A Recorder that passes on to another what may be kept. `name_of` gives a key's name."""

    def __init__(self, recorder: Recorder, privacy: Privacy, name_of: Callable[[int | None], str]) -> None:
        self._recorder = recorder
        self._privacy = privacy
        self._name_of = name_of
        # The running streams whose content is not kept.
        self._shapes: set[UUID] = set()

    def append(self, entry: AnyEntry) -> None:
        if isinstance(entry, StreamOpened):
            entry = self._opened(entry)
        if self._shapes and entry.stream_id in self._shapes:
            if isinstance(entry, StreamClosed):
                self._shapes.discard(entry.stream_id)
            entry = shape_of(entry)
        self._recorder.append(entry)

    def flush(self) -> None:
        self._recorder.flush()

    def has_lost(self, stream_id: UUID) -> bool:
        return self._recorder.has_lost(stream_id)

    def _opened(self, entry: StreamOpened) -> StreamOpened:
        called = model_names(entry.requested_model, entry.provider, entry.upstream_model)
        names = (*called, *entry.other_names)
        if not self._privacy.keeps_content(names, self._name_of(entry.key_id)):
            self._shapes.add(entry.stream_id)
        return entry if self._privacy.keeps_requests else replace(entry, request=b"")


def shape_of(entry: AnyEntry) -> AnyEntry:
    """An entry without anything that a model, a user or a provider wrote; names of models and tools stay.

    Reasons of verdicts go too, as those of a judge are a model's words.
    """
    match entry:
        case StreamOpened():
            return without_content(entry)
        case ChunksReceived():
            return replace(entry, raws=[], sizes=entry.sizes or [len(raw) for raw in entry.raws])
        case FramesSent():
            return replace(entry, made=[(origin, b"") for origin, _ in entry.made])
        case VerdictsGiven():
            return replace(entry, verdicts=[without_content(verdict) for verdict in entry.verdicts])
        case StreamClosed():
            return replace(without_content(entry), blocks=[without_content(block) for block in entry.blocks])
