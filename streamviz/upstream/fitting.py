"""What a provider of another format can take of a request.

What it cannot take is left out and listed if the answer does not depend on it, and refused if it would change the
answer.
"""

from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.wire import WIRE_FORMATS
from streamviz.upstream import written_out
from streamviz.upstream.formats import TranslatedFormat, translated_format
from streamviz.upstream.model_parameters import EFFORTS, drops_json_mode, samples
from streamviz.upstream.request_fields import HINTS, is_usual, refusal
from streamviz.upstream.request_types import require_types
from streamviz.upstream.targets import Target

_TO_US = frozenset({"model", "metadata"})
# Names in all formats, and in chat.
_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "topP": "top_p", "top_k": "top_k", "topK": "top_k"}


class Fitted(NamedTuple):
    """A request that a provider can take, and what was left out of it, by name."""

    request: JsonObject
    left_out: tuple[str, ...]


def fit(target: Target, request: JsonObject, *, as_chat: bool = False) -> Fitted:
    """Fit a request to its provider. `as_chat` says that the provider is called in the chat format, whatever else it
    speaks. Raises RequestError (400) for what it cannot take although the answer depends on it, and for values of wrong
    types."""
    known = translated_format(target)
    require_types(known.types, request)
    if target.provider not in written_out.KEEP_REFERENCES:
        written_out.require_short(request)
    left_out: list[str] = []
    is_chat = as_chat or not known.is_spoken(target)
    fields = _fit_fields(target, request, left_out, known if is_chat else None)
    if is_chat:
        known.fit(target, fields, left_out)
        _fit_sampling(target, fields, left_out)
        if (asked := known.asks_for_json(fields)) and drops_json_mode(target.provider, target.model):
            left_out.append(asked)
    return Fitted(fields, tuple(dict.fromkeys(left_out)))


def _fit_fields(
    target: Target, request: JsonObject, left_out: list[str], as_chat: TranslatedFormat | None
) -> JsonObject:
    """The parameters that a call can have: if the format is called `as_chat`, only those that chat has, too."""
    known = WIRE_FORMATS[target.wire_format].parameters
    fields: JsonObject = {}
    for name, value in request.items():
        if name in _TO_US or value is None:
            continue
        if name in known and (as_chat is None or as_chat.takes(target, name)):
            fields[name] = value
        elif name in HINTS:
            left_out.append(name)
        elif not is_usual(name, value):
            raise refusal(target, name)
    return fields


def _fit_sampling(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Leave out sampling parameters that a reasoning model sets by itself: agents send them to whatever model they run
    on."""
    wire_format = WIRE_FORMATS[target.wire_format]
    where, config = wire_format.settings, wire_format.settings_of(fields)
    effort = as_text(fields.get("reasoning_effort")) or as_text(as_object(fields.get("reasoning")).get("effort"))
    effort = effort if effort in EFFORTS else ""
    refused = [
        name
        for name, known in _SAMPLING.items()
        if isinstance(value := config.get(name), int | float)
        and not samples(target.provider, target.model, known, value, effort)
    ]
    if where and refused:
        fields[where] = {name: value for name, value in config.items() if name not in refused}
    elif refused:
        for name in refused:
            del fields[name]
    left_out += [f"{where}.{name}" if where else name for name in refused]
