"""Reading a client's request. What is wrong with it is told in a RequestError, which names the parameter."""

import gc
from dataclasses import dataclass

import msgspec
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_text, encode, has_more_values
from streamviz.core.request import ModelCall
from streamviz.proxy.formats import WireFormat

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_values = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for a model call: `fields` as they read, and `body`, which says nothing else.

    It is not what the client wrote: of a key that came twice policies would judge one value, and a provider may read
    the other.
    """

    body: bytes
    fields: JsonObject
    model: str
    is_streaming: bool

    def body_for(self, model: str) -> bytes:
        """The request with another model's name; every other field keeps its bytes."""
        if model == self.model:
            return self.body
        raw = _fields.decode(self.body)
        raw["model"] = msgspec.Raw(encode(model))
        return encode(raw)

    def replaced_by(self, call: ModelCall) -> "ModelRequest":
        """The request as policies left it; fields that they did not touch keep their bytes."""
        fields = call.fields
        if fields is self.fields:
            return self
        old = _fields.decode(self.body)
        raw = {
            name: old[name] if name in old and value is self.fields.get(name) else msgspec.Raw(encode(value))
            for name, value in fields.items()
        }
        return ModelRequest(encode(raw), fields, as_text(fields.get("model")), self.is_streaming)


def read_request(body: bytes, wire_format: WireFormat) -> ModelRequest:
    """Raises RequestError for what is no request of this format (400) or has too many values (413); the rest is the
    provider's to judge."""
    most = settings.ANSWER_BOUNDS.values
    if has_more_values(body, most):
        raise RequestError(413, f"The request has more than {most} JSON values (MAX_VALUES).", code="too_large")
    try:
        fields = _decoded(body)
    except msgspec.ValidationError as error:
        raise RequestError(400, f"The request body must be a JSON object: {error}", code="invalid_json") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, f"The request body is not valid JSON: {error}", code="invalid_json") from error
    model = fields.get("model")
    if not isinstance(model, str) or not model.strip():
        raise _wrong("model", "a text that names a model")
    _require_turns(fields, wire_format)
    is_streaming = fields.get("stream")
    if not isinstance(is_streaming, bool | None):
        raise _wrong("stream", "true or false")
    return ModelRequest(encode(fields), fields, model, bool(is_streaming))


def _decoded(body: bytes) -> JsonObject:
    """All of it is in use, so the collector would go through it in vain: in a long one, that takes most of the time."""
    gc.disable()
    try:
        return _values.decode(body)
    finally:
        gc.enable()


def _require_turns(fields: JsonObject, wire_format: WireFormat) -> None:
    turns = fields.get(wire_format.turns)
    if wire_format.turns == "messages":
        if not isinstance(turns, list):
            raise _wrong("messages", "a list of messages")
    elif not isinstance(turns, str | list | None):
        raise _wrong(wire_format.turns, "a text or a list of items")


def _wrong(parameter: str, expected: str) -> RequestError:
    return RequestError(400, f"`{parameter}` must be {expected}.", code="invalid_type", param=parameter)
