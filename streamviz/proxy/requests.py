"""Reading a client's request. What is wrong with it is told in a RequestError, which names the parameter."""

from dataclasses import dataclass

import msgspec

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, encode

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_values = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to /v1/chat/completions: `body` as it came, `fields` as they read."""

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


def read_chat_request(body: bytes) -> ChatRequest:
    """Raises RequestError (400) for what is not a chat request; the rest is the provider's to judge."""
    try:
        fields = _values.decode(body)
    except msgspec.ValidationError as error:
        raise RequestError(400, "The request body must be a JSON object.", code="invalid_json") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestError(400, f"The request body is not valid JSON: {error}", code="invalid_json") from error
    model = fields.get("model")
    if not isinstance(model, str) or not model.strip():
        raise _wrong("model", "a text that names a model")
    if not isinstance(fields.get("messages"), list):
        raise _wrong("messages", "a list of messages")
    is_streaming = fields.get("stream")
    if not isinstance(is_streaming, bool | None):
        raise _wrong("stream", "true or false")
    return ChatRequest(body, fields, model, bool(is_streaming))


def _wrong(parameter: str, expected: str) -> RequestError:
    return RequestError(400, f"`{parameter}` must be {expected}.", code="invalid_type", param=parameter)
