"""One kind of chunk for the chat streams of LiteLLM and of providers' SDKs."""

import msgspec
from pydantic import BaseModel

from streamviz.core.json_value import JsonObject, as_object, as_text, encode, objects


class ChatChunk(msgspec.Struct, frozen=True):
    """One chunk of a chat stream; `unknown` holds the fields that the format does not have."""

    id: str
    created: int
    model: str
    choices: list[JsonObject]
    usage: JsonObject | None
    unknown: JsonObject

    @property
    def finished(self) -> int:
        """How many choices end with this chunk. Some providers send an empty reason with every chunk."""
        return sum(bool(choice["finish_reason"]) for choice in self.choices)

    def json(self) -> bytes:
        """The chunk as the client gets it."""
        usage = {} if self.usage is None else {"usage": self.usage}
        common = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}
        return encode({**common, **self.unknown, "choices": self.choices, **usage})


def typed_chunk(chunk: object, *, id: str | None = None, created: int | None = None) -> ChatChunk:
    """Convert a chunk of LiteLLM's, or of a provider's SDK whose stream LiteLLM returned, or a dictionary.

    `id` and `created` replace its own: a stream has one of each, and LiteLLM makes new ones as it goes.
    """
    fields = as_object(chunk.model_dump(exclude_none=True, warnings=False) if isinstance(chunk, BaseModel) else chunk)
    known = {"id", "object", "created", "model", "choices", "usage"}
    return ChatChunk(
        id=as_text(fields.get("id")) if id is None else id,
        created=_seconds(fields.get("created")) if created is None else created,
        model=as_text(fields.get("model")),
        choices=[{"finish_reason": None, **choice} for choice in objects(fields.get("choices"))],
        usage=as_object(fields.get("usage")) or None,
        unknown={key: value for key, value in fields.items() if key not in known and value is not None},
    )


def _seconds(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
