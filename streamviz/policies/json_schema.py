"""Checking a value by a JSON Schema that a client wrote: in its own dialect, in bounded time, without fetching."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
from jsonschema import (
    Draft3Validator,
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    ValidationError,
)
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject, as_object
from streamviz.policies.parameters import compile_pattern, encodable

# A step is one keyword of the schema at one place in the arguments; it takes some 15 µs, a reference some 100 µs.
MOST_STEPS = 10_000
_MOST_ERRORS = 10
# With these the library matches patterns with Python's `re`, which can take forever.
_UNSAFE = {"patternProperties", "unevaluatedProperties"}
# What these say about the arguments depends on what does not match, too. Of several schemas of which any will do, none
# after the first that fits is looked at, and a pattern that RE2 cannot read in those before it does not matter.
_CHOOSING = {"anyOf", "oneOf", "not", "if", "contains", "unevaluatedItems", "unevaluatedProperties", "type", "disallow"}
_OLDER = re.compile(r"\Ahttps(?=://json-schema\.org/draft-0)")
_INVALID = "its schema is invalid or has a broken reference"
_UNREAD = "its schema has a pattern that RE2 cannot read, such as one that looks ahead"
_canonical = msgspec.json.Encoder(order="deterministic").encode

Keyword = Callable[[Validator, Any, Any, Any], Iterable[ValidationError] | None]


@dataclass(slots=True)
class _Check:
    """A check under way: the steps that are left, how many of _CHOOSING it is within, and whether it passed over a
    pattern."""

    left: int = MOST_STEPS
    choosing: int = 0
    has_unread: bool = False


_under_way: ContextVar[_Check] = ContextVar("under_way")


class _Unchecked(Exception):
    """Why arguments cannot be checked."""


class _Unread(_Unchecked):
    """RE2 cannot read a pattern."""


def checked_by_any(arguments: object, schemas: list[object]) -> ValidationError | None:
    """What is wrong with the arguments by the first schema, if something is by each.

    Raises ValueError if that cannot be found out, or checking takes more than MOST_STEPS: a small schema can refer to
    itself many times over.
    """
    _under_way.set(_Check())
    errors: list[ValidationError] = []
    failure: ValueError | None = None
    for schema in schemas:
        try:
            error = _checked(arguments, schema)
        except ValueError as why:
            failure = why
            continue
        if error is None:
            return None
        errors.append(error)
    if failure is not None:
        raise failure
    return errors[0]


def _checked(arguments: object, schema: object) -> ValidationError | None:
    """What is wrong with the arguments: the best of the first few errors, because each quotes them, and they may be
    long. Raises ValueError if that cannot be found out."""
    if isinstance(schema, dict) and _UNSAFE.issubset(_keys(schema)):
        raise ValueError(f"its schema has {' and '.join(sorted(_UNSAFE))}, which are not checked together")
    check = _under_way.get()
    check.has_unread = False
    found: list[ValidationError] = []
    try:
        # With a registry of its own it fetches nothing, whatever the schema refers to.
        validator = _dialect_of(schema, _DIALECTS[Draft202012Validator])(schema, registry=Registry())  # type: ignore[arg-type]
        found.extend(islice(validator.iter_errors(arguments), _MOST_ERRORS))  # type: ignore[arg-type]
    except Exception as error:
        # What is already known to be wrong stays wrong, whatever cannot be checked.
        if not found:
            # The library's messages quote the arguments and the schema, which may hold a secret.
            raise ValueError(str(error) if isinstance(error, _Unchecked) else _INVALID) from None
    if check.has_unread and not found:
        raise ValueError(_UNREAD)
    return _best(found)


def _best(found: list[ValidationError]) -> ValidationError | None:
    """The one that tells the most. The library looks at the schema again for it, and cannot read every type there."""
    try:
        return best_match(found)
    except Exception:
        return found[0]


def _keys(value: object) -> Iterator[str]:
    level = [value]
    while level:
        item = level.pop()
        if isinstance(item, dict):
            yield from item
            level += item.values()
        elif isinstance(item, list):
            level += item


def _pattern(validator: Validator, pattern: str, instance: object, schema: object) -> Iterator[ValidationError]:
    """Match with RE2, because Python's `re` can take forever on what a model writes."""
    if isinstance(instance, str) and _matches(pattern, instance) is False:
        yield ValidationError("does not match")


def _matches(pattern: str, text: str) -> bool | None:
    """Whether a pattern matches; None if RE2 cannot read it, and the rest is to be checked all the same.

    Raises _Unread if the rest depends on it.
    """
    try:
        return compile_pattern(pattern, "pattern").search(encodable(text)) is not None
    except PolicyParametersError:
        check = _under_way.get()
        if check.choosing:
            raise _Unread(_UNREAD) from None
        check.has_unread = True
        return None


def _pattern_properties(
    validator: Validator, patterns: dict[str, object], instance: object, schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)  # type: ignore[attr-defined]


def _additional_properties(
    validator: Validator, wanted: object, instance: object, schema: JsonObject
) -> Iterator[ValidationError]:
    """The library's own version matches the adjacent `patternProperties` with Python's `re`."""
    if not isinstance(instance, dict):
        return
    named, patterns = as_object(schema.get("properties")), as_object(schema.get("patternProperties"))
    for key, value in instance.items():
        if key in named or any(_matches(pattern, key) is not False for pattern in patterns):
            continue
        if wanted is False:
            yield ValidationError("it has members that are not allowed")
        else:
            yield from validator.descend(value, wanted, path=key)  # type: ignore[attr-defined]


def _unique_items(validator: Validator, wanted: object, instance: object, schema: object) -> Iterator[ValidationError]:
    """The library's own version compares every pair of items."""
    if wanted and isinstance(instance, list) and len({_canonical(item) for item in instance}) < len(instance):
        yield ValidationError("an item appears twice")


def _any_of(validator: Validator, choices: list[object], instance: object, schema: object) -> Iterator[ValidationError]:
    """The library's own version ends at the first choice that cannot be checked; a later one may fit."""
    errors: list[ValidationError] = []
    unread: _Unread | None = None
    for number, choice in enumerate(choices):
        try:
            found = list(validator.descend(instance, choice, schema_path=number))  # type: ignore[attr-defined]
        except _Unread as error:
            unread = error
            continue
        if not found:
            return
        errors += found
    if unread is not None:
        raise unread
    yield ValidationError("it fits none of the schemas to choose from", context=errors)


def _count() -> None:
    under_way = _under_way.get()
    under_way.left -= 1
    if under_way.left < 0:
        raise _Unchecked("it would take too long to check")


def _counted(name: str, keyword: Keyword) -> Keyword:
    """A keyword's check, counted as a step."""
    keyword = _settled(keyword) if name in _CHOOSING else keyword

    def check(validator: Validator, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError] | None:
        _count()
        return keyword(validator, value, instance, schema)

    return check


def _settled(keyword: Keyword) -> Keyword:
    """The check of a keyword of _CHOOSING. If it depends on a pattern that RE2 cannot read, it says nothing."""

    def check(validator: Validator, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError] | None:
        under_way = _under_way.get()
        under_way.choosing += 1
        try:
            return list(islice(keyword(validator, value, instance, schema) or (), _MOST_ERRORS))
        except _Unread:
            if under_way.choosing > 1:
                raise
            under_way.has_unread = True
            return None
        finally:
            under_way.choosing -= 1

    return check


def _dialect_of(schema: object, default: type[Validator]) -> type[Validator]:
    """The validator for the dialect that a schema names in its `$schema`; the older drafts' names begin with http, but
    many write https."""
    named = as_object(schema).get("$schema")
    if named is None:
        return default
    if not isinstance(named, str):
        raise _Unchecked(_INVALID)
    found = validator_for({"$schema": _OLDER.sub("http", named)}, default=default)
    return _DIALECTS.get(found, found)


def _evolve(validator: Any, **changes: Any) -> Validator:
    """The library's own version takes one of its own validators for a part of a schema that has a `$schema`. This is
    counted, as the library walks parts of a schema that have none of our keywords."""
    _count()
    schema = changes.get("schema", validator.schema)
    resolver = changes.get("_resolver", validator._resolver)
    return _dialect_of(schema, type(validator))(schema, registry=validator._registry, _resolver=resolver)  # type: ignore[call-arg]


_OWN: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
    "anyOf": _any_of,
}


def _bounded(library: type[Validator]) -> type[Validator]:
    """A validator of the library's with our keywords, all of them counted."""
    own = {name: keyword for name, keyword in _OWN.items() if name in library.VALIDATORS}
    keywords: dict[str, Keyword] = {**library.VALIDATORS, **own}
    made = extend(library, {name: _counted(name, keyword) for name, keyword in keywords.items()})
    made.evolve = _evolve
    return made


_DIALECTS: dict[type[Validator], type[Validator]] = {
    each: _bounded(each)
    for each in (
        *(Draft3Validator, Draft4Validator, Draft6Validator, Draft7Validator),
        *(Draft201909Validator, Draft202012Validator),
    )
}
