"""Errors that providers tell where an answer should be, with a status that says that all is well."""

from streamviz.core.json_value import JsonObject, as_index, as_object, object_in

# An error says why in a few lines.
_MOST_OF_AN_ERROR = 16 * 1024
# What stands beside an error of an answer that there is.
_ANSWERS = ("candidates", "choices", "content", "data", "message", "output")


def status_told(body: bytes) -> int:
    """The status of the error that a whole answer is; 0 where it is none. Where it tells no status of HTTP's, the
    provider is at fault."""
    told = object_in(body) if len(body) <= _MOST_OF_AN_ERROR else {}
    if not told.get("error") or any(told.get(name) for name in _ANSWERS):
        return 0
    status = _code_of(told)
    return status if 400 <= status < 600 else 502


def _code_of(told: JsonObject) -> int:
    return as_index(as_object(told["error"]).get("code")) or 0
