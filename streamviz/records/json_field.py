"""A form field for JSON that people type."""

import json
from typing import Any

from django import forms

from streamviz.core.json_value import decode_strictly
from streamviz.records.columns import clean_json


class _Decoder(json.JSONDecoder):
    """Raises JSONDecodeError, which Django shows at the field, also for input on which Python would raise other errors,
    and for text that Postgres cannot store."""

    def decode(self, s: str, *_: Any) -> object:
        try:
            value = decode_strictly(s)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), s, 0) from error
        if clean_json(value) != value:
            raise json.JSONDecodeError("a NUL", s, 0)
        return value


class StoredJSON(forms.JSONField):
    """JSON that can be stored and read back unchanged."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "decoder": _Decoder})
