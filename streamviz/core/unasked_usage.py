"""Usage that streamviz requests of a chat provider and the client did not: the client gets what it would have got
otherwise.

OpenAI sends usage in a chunk of its own, without a choice, and puts `usage: null` into each chunk before that.
"""

from collections.abc import Iterable

import msgspec

from streamviz.core.context import Frame
from streamviz.core.json_value import JsonObject, as_object

# The record's views remove the same (records/migrations/_runs.py).
_NULLS = (b',"usage":null', b', "usage": null')
_decode = msgspec.json.Decoder(dict[str, object]).decode


class UnaskedUsage:
    """Removes from one stream's frames what only comes because usage was requested."""

    def __init__(self) -> None:
        # How this stream's chunks say that there is none yet; empty if they do not.
        self._null: bytes | None = None

    def left_of(self, frames: Iterable[Frame]) -> list[Frame]:
        """The frames without it, in order; one that says nothing else is left out."""
        kept = []
        for frame in frames:
            raw = self._without(frame.raw)
            if raw is frame.raw:
                kept.append(frame)
            elif raw:
                kept.append(Frame(raw, frame.seq, frame.origin))
        return kept

    def _without(self, raw: bytes) -> bytes:
        # In a text of the model's the quotes would be escaped.
        if b'"usage"' not in raw:
            return raw
        payload = None
        if self._null is None:
            payload = _payload(raw)
            self._null = _null_of(payload, raw)
        if self._null and (at := raw.find(self._null)) >= 0:
            end = at + len(self._null)
            return raw if raw.find(self._null, end) >= 0 else raw[:at] + raw[end:]
        return b"" if _is_usage_alone(_payload(raw) if payload is None else payload) else raw


def _null_of(payload: JsonObject, raw: bytes) -> bytes:
    if payload.get("usage", payload) is not None:
        return b""
    return next((null for null in _NULLS if null in raw), b"")


def _is_usage_alone(payload: JsonObject) -> bool:
    return payload.get("choices") == [] and bool(as_object(payload.get("usage")))


def _payload(raw: bytes) -> JsonObject:
    """The payload of one event; empty if there are several."""
    try:
        return _decode(raw[raw.find(b"{") : raw.rfind(b"}") + 1])
    except ValueError:
        return {}
