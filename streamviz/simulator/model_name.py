"""Reads what a model name asks for: `<scenario>[?option=value&…]` or `replay:<format>/<slug>[?…]`."""

import math
from urllib.parse import parse_qsl

import msgspec

from streamviz.simulator.asked import Asked, AskedReplay
from streamviz.simulator.errors import ProviderError

REPLAY = "replay:"
MOST_CHUNKS = 100_000


def parse_model(model: str) -> Asked | AskedReplay:
    """Read a model name. Raises ProviderError (400) for an option that is unknown or has a wrong value."""
    name, _, query = model.partition("?")
    kind: type[Asked | AskedReplay] = Asked
    options: dict[str, object] = {"scenario": name}
    if name.startswith(REPLAY):
        kind, options = AskedReplay, {"recording": name.removeprefix(REPLAY)}
    options.update((key, _number(key, value)) for key, value in parse_qsl(query, keep_blank_values=True))
    return _convert(options, kind)


def parse_speed(text: str) -> float:
    """A speed factor; `0` and `inf` both mean no delays. Raises ValueError if it is not a number, or negative."""
    speed = float(text)
    if math.isnan(speed) or speed < 0:
        raise ValueError(f"a speed is 0 or more, not {text!r}")
    return speed or math.inf


def _number(key: str, value: str) -> float | int:
    try:
        return parse_speed(value) if key == "speed" else _finite(value)
    except ValueError as error:
        raise ProviderError.bad_request(f"Model option {key} cannot be {value!r}.", "model") from error


def _finite(value: str) -> float | int:
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(value)
    return int(number) if number == int(number) else number


def _convert(options: dict[str, object], kind: type[Asked | AskedReplay]) -> Asked | AskedReplay:
    unknown = options.keys() - set(kind.__struct_fields__)
    if unknown:
        raise ProviderError.bad_request(f"Unknown model option: {', '.join(sorted(unknown))}.", "model")
    try:
        asked = msgspec.convert(options, kind)
    except msgspec.ValidationError as error:
        raise ProviderError.bad_request(f"Model option of the wrong type: {error}.", "model") from error
    if isinstance(asked, Asked) and (asked.chunks or 0) > MOST_CHUNKS:
        raise ProviderError.bad_request(f"At most {MOST_CHUNKS} chunks.", "model")
    if isinstance(asked, AskedReplay) and asked.pieces == 0:
        raise ProviderError.bad_request("Pieces have at least one byte.", "model")
    return asked
