"""Adding up what several calls came to."""

from typing import TypeGuard

from streamviz.core.json_value import JsonObject


def added(one: JsonObject, other: JsonObject) -> JsonObject:
    """The sum of two usage objects: of all numbers, also those of parts. Of what is no number the later word stays."""
    return {name: _sum(one.get(name), other.get(name)) for name in (*one, *(other.keys() - one.keys()))}


def _sum(one: object, other: object) -> object:
    if isinstance(one, dict) and isinstance(other, dict):
        return added(one, other)
    if _is_number(one) and _is_number(other):
        return one + other
    return one if other is None else other


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
