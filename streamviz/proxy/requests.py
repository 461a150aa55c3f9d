"""Reading a client's request. A RequestError says what is wrong with it and names the parameter."""

import gc
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import msgspec
from django.conf import settings

from streamviz.bounded import aside, rest
from streamviz.core.errors import RequestError, wrong_type
from streamviz.core.json_value import JsonObject, as_object, as_text, encode, has_more_values, require_shallow
from streamviz.core.request import ModelCall
from streamviz.core.request_credentials import without_credentials
from streamviz.core.wire import WIRE_FORMATS
from streamviz.core.wire_format import WireFormat
from streamviz.proxy.made_messages import MADE, with_made_in_place
from streamviz.upstream.targets import Target

T = TypeVar("T")
_HALF = r"a string has half of a surrogate pair (such as \ud83d alone), as when it is cut within an emoji"
# A longer body takes some ms to read.
LONG_BODY_BYTES = 100_000
# The most tokens that OpenAI embeds in one call. Each is a JSON value, but takes hardly any time to read.
_MOST_TOKENS = 300_000
# LiteLLM goes through a request many times, in the event loop, so a value costs this many times as much there.
_TRANSLATING = 4
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_values = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for a model call: `fields` is the decoded request, and `body` encodes exactly that.

    The client's own bytes are not used: if a key came twice, policies would judge one value, and a provider might read
    the other.
    """

    body: bytes
    fields: JsonObject
    model: str
    is_streaming: bool

    def require_translatable(self) -> None:
        """Raises RequestError (413) for more JSON values than are translated for a provider of another format."""
        most = settings.ANSWER_BOUNDS.values // _TRANSLATING
        _require_values(self.body, most, f"MAX_VALUES / {_TRANSLATING}, as its provider speaks another format")

    def body_for(self, model: str) -> bytes:
        """The request with another model's name; every other field keeps its bytes."""
        if model == self.model:
            return self.body
        raw = _fields.decode(self.body)
        raw["model"] = msgspec.Raw(encode(model))
        return encode(raw)

    def upstream(self, target: Target) -> tuple[Target, bytes]:
        """Where the request goes on the raw lane, and its body there."""
        wire_format = WIRE_FORMATS[target.wire_format]
        if wire_format.path_end is None:
            return target, self.body_for(target.model)
        raw = _fields.decode(self.body)
        body = encode({name: value for name, value in raw.items() if name not in wire_format.fields_in_path})
        return target.at(wire_format.path_end(target.model, self.is_streaming)), body

    def counted(self, target: Target) -> tuple[Target, bytes]:
        """Where the request's tokens are counted on the raw lane, in a format that has such calls, and the body to send
        there."""
        counting = WIRE_FORMATS[target.wire_format].counting
        assert counting is not None, target.wire_format
        path, counted = counting({**_fields.decode(self.body)}, target.model)
        return target.at(path), encode(counted)

    def asking_for_usage(self) -> "ModelRequest":
        """The same request, which also asks a chat provider for the stream's token usage."""
        options = {**as_object(self.fields.get("stream_options")), "include_usage": True}
        fields = {**self.fields, "stream_options": options}
        return ModelRequest(self._saying(fields), fields, self.model, self.is_streaming)

    def replaced_by(self, call: ModelCall) -> "ModelRequest":
        """The request as policies left it; fields that they did not touch keep their bytes."""
        fields = call.fields
        if fields is self.fields:
            return self
        return ModelRequest(self._saying(fields), fields, as_text(fields.get("model")), self.is_streaming)

    async def kept(self) -> bytes:
        """The request as it is recorded: without the credentials that it contains for others."""
        return await read_aside(self.body, lambda body: self._saying(without_credentials(self.fields, body)))

    def _saying(self, fields: JsonObject) -> bytes:
        """The request with these fields; those that are unchanged keep their bytes."""
        if fields is self.fields:
            return self.body
        old = _fields.decode(self.body)
        raw = {
            name: old[name] if name in old and value is self.fields.get(name) else msgspec.Raw(encode(value))
            for name, value in fields.items()
        }
        return encode(raw)


def decoded(body: bytes, tokens: int = 0) -> JsonObject:
    """The JSON object in a request's body, which may have `tokens` more values than usual.

    Raises RequestError if it is not an object, or nested too deeply to be read back from the record (400), or has too
    many values (413).
    """
    _require_values(body, settings.ANSWER_BOUNDS.values + tokens, "MAX_VALUES")
    try:
        fields = _decoded(body)
        require_shallow(body)
        return fields
    except msgspec.ValidationError as error:
        raise RequestError(400, f"The request body must be a JSON object: {error}.", code="invalid_json") from error
    except (ValueError, RecursionError) as error:
        why = _HALF if _has_half_a_character(body) else error
        raise RequestError(400, f"The request body is not valid JSON: {why}.", code="invalid_json") from error


def _has_half_a_character(body: bytes) -> bool:
    """Whether half a surrogate pair is all that is wrong with JSON. JavaScript writes it if a text was cut within an
    emoji; msgspec takes it for the body's end, and providers refuse it."""
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def read_request(body: bytes, wire_format: WireFormat) -> ModelRequest:
    """Raises RequestError for what is not a request of this format (400) or has too many values (413); everything else
    is left to the provider to judge."""
    fields = decoded(body, _MOST_TOKENS if wire_format.is_of_numbers else 0)
    model = fields.get("model")
    if not isinstance(model, str) or not model.strip():
        raise wrong_type("model", "a string that names a model")
    _require_own_names(fields, wire_format)
    _require_turns(fields, wire_format)
    is_streaming = fields.get("stream")
    if not isinstance(is_streaming, bool | None):
        raise wrong_type("stream", "true or false")
    if MADE in body:
        fields = with_made_in_place(fields)
    return ModelRequest(encode(fields), fields, model, bool(is_streaming))


async def read_aside(body: bytes, read: Callable[[bytes], T]) -> T:
    """The result of `read` for a request's body. For a long body it runs in a thread, while others continue. Raises
    what `read` raises."""
    if len(body) <= LONG_BODY_BYTES:
        return read(body)
    found: list[T] = []
    await aside(lambda: found.append(read(body)))
    await rest()
    return found[0]


def _require_values(body: bytes, most: int, why: str) -> None:
    if has_more_values(body, most):
        raise RequestError(413, f"The request has more than {most} JSON values ({why}).", code="too_large")


def _decoded(body: bytes) -> JsonObject:
    """Decode without garbage collection: everything decoded is in use, so for a long body the collector would take most
    of the time, in vain."""
    gc.disable()
    try:
        return _values.decode(body)
    finally:
        gc.enable()


def _require_own_names(fields: JsonObject, wire_format: WireFormat) -> None:
    """Refuse names that match a parameter except for case: a provider that ignores case would read what policies do
    not. `require_one_model` checks the model."""
    own_names, by_folded = _own_names(wire_format.parameters)
    for name in fields:
        if name not in own_names and (own := by_folded.get(name.casefold())):
            message = f"Unknown parameter `{name}`; did you mean `{own}`?"
            raise RequestError(400, message, code="unknown_parameter", param=name)


@cache
def _own_names(parameters: frozenset[str]) -> tuple[frozenset[str], dict[str, str]]:
    names = frozenset({"stream", *parameters} - {"model"})
    return names, {name.lower(): name for name in names}


def _require_turns(fields: JsonObject, wire_format: WireFormat) -> None:
    turns = fields.get(wire_format.turns)
    if wire_format.may_be_text:
        if not isinstance(turns, str | list | None):
            raise wrong_type(wire_format.turns, "a string or a list of items")
    elif not isinstance(turns, list):
        raise wrong_type(wire_format.turns, "a list of messages")
