"""Names of arguments as clients take them: some, such as those in Go, overlook case, hyphens and underscores."""

from collections.abc import Collection, Mapping

from streamviz.core.json_value import JsonObject


def plain(name: str) -> str:
    """What is the same for all names that a client may take for each other."""
    return name.casefold().replace("_", "").replace("-", "")


def spelt(value: JsonObject, names: Collection[str]) -> JsonObject:
    """Arguments in which all that a client may take for one of these names is called that.

    Raises ValueError if an object has two members that a client may take for the same one: which counts depends on the
    client.
    """
    return _respelt_members(value, {plain(name): name for name in sorted(names)}, frozenset(names)) if names else value


def _respelt(value: object, by_plain: Mapping[str, str], names: frozenset[str]) -> object:
    if isinstance(value, dict):
        return _respelt_members(value, by_plain, names)
    return [_respelt(item, by_plain, names) for item in value] if isinstance(value, list) else value


def _respelt_members(members: JsonObject, by_plain: Mapping[str, str], names: frozenset[str]) -> JsonObject:
    made: JsonObject = {}
    for key, value in members.items():
        name = key if key in names else by_plain.get(plain(key), key)
        if name in made or (name != key and name in members):
            raise ValueError("a key of the arguments appears twice, in different spellings")
        made[name] = _respelt(value, by_plain, names)
    return made
