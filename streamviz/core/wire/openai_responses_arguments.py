"""Comparing the arguments of calls, in whatever form they come: whether they are the same, or one continues the
other."""

from streamviz.core.json_value import as_list, decode, has_more_values

_MOST_VALUES = 100_000


def is_same(one: str, other: str) -> bool:
    """Whether two texts are the same arguments, however spaced; with very many values they must be identical."""
    if one == other:
        return True
    if any(has_more_values(text.encode("utf-8", "replace"), _MOST_VALUES) for text in (one, other)):
        return False
    try:
        return decode(one) == decode(other)
    except ValueError:
        return False


def goes_on(begun: object, whole: object) -> bool:
    """Whether `begun` is the beginning of `whole`."""
    if isinstance(begun, dict) and isinstance(whole, dict):
        return all(goes_on(value, whole.get(key)) for key, value in begun.items())
    if is_empty(begun):
        return True
    if isinstance(begun, str):
        return isinstance(whole, str) and whole.startswith(begun)
    if isinstance(begun, list):
        is_long = isinstance(whole, list) and len(whole) >= len(begun)
        return is_long and all(goes_on(*pair) for pair in zip(begun, as_list(whole), strict=False))
    return begun == whole


def is_empty(value: object) -> bool:
    """Whether a value says nothing."""
    if isinstance(value, dict):
        return all(is_empty(inner) for inner in value.values())
    return value is None or value == "" or value == []
