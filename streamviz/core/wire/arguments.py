"""Tool arguments that came as a JSON object where the rest of the project keeps raw text."""

import json

from streamviz.core.json_value import JsonObject, as_object, decode


def as_arguments(value: object) -> str:
    """Text as it is; an object as JSON with a space after each comma and colon, as models write it themselves."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def as_input(arguments: str) -> JsonObject:
    """The object that `arguments` says; an empty one where it is cut off or says something else."""
    try:
        return as_object(decode(arguments))
    except ValueError:
        return {}
