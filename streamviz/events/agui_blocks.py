"""One block at a time as AG-UI events: text, reasoning, a tool call, and what the protocol has no event for."""

from collections.abc import Iterable
from typing import Protocol

from ag_ui.core.events import (
    BaseEvent,
    CustomEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from streamviz.core.events import BlockDelta, BlockStarted
from streamviz.core.media import media_within
from streamviz.core.medium import Medium
from streamviz.core.sounds import media_of_line
from streamviz.events.reports import PIECE

Events = list[BaseEvent]


class BlockTeller(Protocol):
    """A block that is being reported. Each step gives its events, in order."""

    def start(self) -> Events: ...

    def grow(self, delta: BlockDelta) -> Events: ...

    def end(self) -> Events: ...


def custom(event: str, /, **value: object) -> CustomEvent:
    """An event that AG-UI does not have."""
    return CustomEvent(name=f"streamviz.{event}", value=value)


def pieces(text: str) -> list[str]:
    """The same text in pieces; each piece of a base64 text can be decoded by itself."""
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


class Text:
    """Text for the reader, as a message of its own; a refusal is announced by an event before it."""

    def __init__(self, message_id: str, *, is_refusal: bool) -> None:
        self._id = message_id
        self._is_refusal = is_refusal

    def start(self) -> Events:
        first: Events = [custom("refusal", messageId=self._id)] if self._is_refusal else []
        return [*first, TextMessageStartEvent(message_id=self._id, role="assistant")]

    def grow(self, delta: BlockDelta) -> Events:
        return [TextMessageContentEvent(message_id=self._id, delta=delta.text)] if delta.text else []

    def end(self) -> Events:
        return [TextMessageEndEvent(message_id=self._id)]


class Reasoning:
    """Thinking, as a span with one message in it; its signatures are sent as one at its end."""

    def __init__(self, message_id: str) -> None:
        self._id = message_id
        self._signatures: list[str] = []

    def start(self) -> Events:
        return [
            ReasoningStartEvent(message_id=self._id),
            ReasoningMessageStartEvent(message_id=self._id, role="reasoning"),
        ]

    def grow(self, delta: BlockDelta) -> Events:
        if delta.signature:
            self._signatures.append(delta.signature)
        return [ReasoningMessageContentEvent(message_id=self._id, delta=delta.text)] if delta.text else []

    def end(self) -> Events:
        signed = "".join(self._signatures)
        opaque = ReasoningEncryptedValueEvent(subtype="message", entity_id=self._id, encrypted_value=signed)
        return [
            ReasoningMessageEndEvent(message_id=self._id),
            *([opaque] if signed else []),
            ReasoningEndEvent(message_id=self._id),
        ]


class ToolCall:
    """A tool call, within the message `parent_id`. It begins with its first argument, or at its end if it has none,
    because its id and pieces of its name may arrive until then."""

    def __init__(self, started: BlockStarted, parent_id: str, taken_ids: set[str], spare_id: str) -> None:
        self._call_id, self._name = started.id, started.name
        self._parent_id = parent_id
        self._taken_ids = taken_ids
        self._spare_id = spare_id
        self._has_begun = False

    def start(self) -> Events:
        return []

    def grow(self, delta: BlockDelta) -> Events:
        if not self._has_begun:
            self._call_id = delta.id or self._call_id
            self._name = delta.name or self._name
        if not delta.text:
            return []
        return [*self._begin(), ToolCallArgsEvent(tool_call_id=self._call_id, delta=delta.text)]

    def end(self) -> Events:
        return [*self._begin(), ToolCallEndEvent(tool_call_id=self._call_id)]

    def _begin(self) -> Events:
        if self._has_begun:
            return []
        self._has_begun = True
        if not self._call_id or self._call_id in self._taken_ids:
            self._call_id = self._spare_id
        self._taken_ids.add(self._call_id)
        return [
            ToolCallStartEvent(tool_call_id=self._call_id, tool_call_name=self._name, parent_message_id=self._parent_id)
        ]


class Media:
    """Images or sounds: each is sent once its line of the block is complete, because only then is it known what it is.
    A sound begins with its first piece."""

    def __init__(self, started: BlockStarted, id: str) -> None:
        self._started = started
        self._id = id
        self._pieces: list[str] = []
        self._begun: Medium | None = None
        self._number = 0
        self._size = 0

    def start(self) -> Events:
        return []

    def grow(self, delta: BlockDelta) -> Events:
        if "\n" not in delta.text:
            self._pieces.append(delta.text)
            return []
        *lines, rest = "".join([*self._pieces, delta.text]).split("\n")
        self._pieces = [rest]
        return [event for line in lines for medium in media_of_line(line) for event in self._tell(medium)]

    def end(self) -> Events:
        media = media_of_line("".join(self._pieces))
        # If no medium is known, because content is not kept, one is reported all the same.
        return self.tell(media if media or self._has_begun else [Medium("")])

    def tell(self, media: Iterable[Medium]) -> Events:
        """The events for the last of them."""
        return [*(event for medium in media for event in self._tell(medium)), *self._finish()]

    @property
    def _has_begun(self) -> bool:
        return self._begun is not None or self._number > 0

    def _tell(self, medium: Medium) -> Events:
        begun: Events = []
        if self._begun is None or not self._begun.goes_on_in(medium):
            begun = [*self._finish(), self._begin(medium)]
        self._size += medium.size
        contents = [custom("media_content", id=self._own_id, data=data, url="") for data in pieces(medium.data)]
        if medium.address:
            contents = [custom("media_content", id=self._own_id, data="", url=medium.address)]
        return [*begun, *contents]

    @property
    def _own_id(self) -> str:
        return f"{self._id}.{self._number}"

    def _begin(self, medium: Medium) -> BaseEvent:
        self._begun = medium
        about = {"block": self._started.ordinal, "label": self._started.label, "isPreview": medium.is_preview}
        return custom("media_start", id=self._own_id, **about, mimeType=medium.type)

    def _finish(self) -> Events:
        if self._begun is None:
            return []
        ended = custom("media_end", id=self._own_id, size=self._size)
        self._begun, self._size, self._number = None, 0, self._number + 1
        return [ended]


class Other:
    """A block of another kind: sent at its end, a long text in several events, then the images and sounds in it."""

    def __init__(self, started: BlockStarted, id: str) -> None:
        self._started = started
        self._media = Media(started, id)
        self._pieces: list[str] = []

    def start(self) -> Events:
        return []

    def grow(self, delta: BlockDelta) -> Events:
        self._pieces.append(delta.text)
        return []

    def end(self) -> Events:
        about = {"block": self._started.ordinal, "label": self._started.label, "name": self._started.name}
        whole = "".join(self._pieces)
        others: Events = [custom("other", **about, text=text) for text in pieces(whole) or [""]]
        return [*others, *self._media.tell(media_within(whole))]
