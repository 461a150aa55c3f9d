"""A kind's parameters as fields of a form, made from its JSON schema, and back."""

import json
from collections.abc import Iterator
from typing import Any

from django import forms

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.records.json_field import StoredJSON

PREFIX = "p."


class ReadableJSON(StoredJSON):
    """JSON on several lines, and an empty field for no value."""

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, indent=2, ensure_ascii=False)


def fields_of(schema: JsonObject, parameters: JsonObject) -> dict[str, forms.Field]:
    """The fields by `p.name` (`p.stream.blocks` for one in an object), with their values in `parameters`."""
    return dict(_fields(schema, parameters, PREFIX))


def parameters_in(schema: JsonObject, cleaned: dict[str, Any], prefix: str = PREFIX) -> JsonObject:
    """What was filled in. Fields that were left empty are left out, unless a default would then take their place."""
    found: JsonObject = {}
    for name, each in as_object(schema.get("properties")).items():
        own = as_object(each)
        value: Any
        if _is_group(own):
            value = parameters_in(own, cleaned, f"{prefix}{name}.") or None
        else:
            value = _read(own, cleaned.get(prefix + name))
        is_emptied = cleaned.get(prefix + name) == "" and own.get("default") and "enum" not in own
        if value not in (None, "", []) or is_emptied:
            found[name] = value
    return found


def _fields(schema: JsonObject, parameters: JsonObject, prefix: str) -> Iterator[tuple[str, forms.Field]]:
    required = as_list(schema.get("required"))
    for name, each in as_object(schema.get("properties")).items():
        own = as_object(each)
        if _is_group(own):
            yield from _fields(own, as_object(parameters.get(name)), f"{prefix}{name}.")
        else:
            field = _field(own, parameters.get(name))
            field.required = name in required
            field.label = (prefix.removeprefix(PREFIX) + name).replace("_", " ").replace(".", ": ")
            field.help_text = f"{as_text(own.get('description'))}{_how_written(own)}"
            yield prefix + name, field


def _how_written(schema: JsonObject) -> str:
    """How to write the value of a field that takes more than words."""
    items = as_object(schema.get("items"))
    if schema.get("type") not in ("array", "object") or "enum" in items:
        return ""
    if items.get("type") == "string":
        return " One per line."
    example = next(iter(as_list(schema.get("examples"))), None)
    return f" As JSON, e.g. {json.dumps(example)}." if example else " As JSON."


def _is_group(schema: JsonObject) -> bool:
    return schema.get("type") == "object" and bool(schema.get("properties"))


def _field(schema: JsonObject, value: Any) -> forms.Field:
    initial = schema.get("default") if value is None else value
    items = as_object(schema.get("items"))
    if "enum" in schema:
        return forms.ChoiceField(choices=[(each, each) for each in as_list(schema["enum"])], initial=initial)
    match schema.get("type"):
        case "boolean":
            return forms.BooleanField(initial=initial)
        case "integer" | "number":
            step = 1 if schema["type"] == "integer" else "any"
            return forms.FloatField(initial=initial, widget=forms.NumberInput(attrs={"step": step}))
        case "array" if "enum" in items:
            choices = [(each, str(each).replace("_", " ")) for each in as_list(items["enum"])]
            return forms.MultipleChoiceField(choices=choices, initial=initial, widget=forms.CheckboxSelectMultiple)
        case "array" if items.get("type") == "string":
            text = "\n".join(map(str, as_list(initial)))
            return forms.CharField(initial=text, widget=forms.Textarea(attrs={"rows": _rows(text)}), strip=False)
        case "array" | "object":
            text = json.dumps(initial, indent=2, ensure_ascii=False) if initial else ""
            return ReadableJSON(initial=initial or None, widget=forms.Textarea(attrs={"rows": _rows(text)}))
        case _:
            return _text(as_text(initial), is_long=schema.get("format") in ("textarea", "expression"))


def _text(text: str, *, is_long: bool) -> forms.Field:
    return forms.CharField(initial=text, widget=forms.Textarea(attrs={"rows": 5}) if is_long else forms.TextInput())


def _rows(text: str) -> int:
    return min(14, max(3, text.count("\n") + 2))


def _read(schema: JsonObject, value: Any) -> Any:
    items = as_object(schema.get("items"))
    match schema.get("type"):
        case "integer" if isinstance(value, float) and value.is_integer():
            return int(value)
        case "boolean":
            return value or None
        case "array" if items.get("type") == "string" and "enum" not in items:
            return [line for line in str(value or "").splitlines() if line.strip()]
        case _:
            return value
